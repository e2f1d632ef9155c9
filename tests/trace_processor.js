// Run Perfetto's trace_processor, which is WebAssembly made for browsers, under node.
// node trace_processor.js FOLDER_OF_THE_BUNDLE REQUESTS REPLIES: both files are streams of TraceProcessorRpcStream.
'use strict';
const fs = require('fs');
const path = require('path');
const [folder, requests, replies] = process.argv.slice(2);
const exit = process.exit.bind(process);
const out = fs.openSync(replies, 'w');

globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.location = {href: 'http://localhost/'};
// It loads its module with a request that waits for the answer.
globalThis.XMLHttpRequest = class {
  open(method, name) {
    this.file = path.join(folder, path.basename(String(name)));
  }
  send() {
    const data = fs.readFileSync(this.file);
    this.response = data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
  }
};
for (const level of ['log', 'warn', 'info', 'debug']) console[level] = (...words) => process.stderr.write(words.join(' ') + '\n');

// Without `process` the bundle takes node for a worker of a browser.
new Function('process', fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'))(undefined);

const port = {
  onmessage: null,
  postMessage: (data) => fs.writeSync(out, data),
};
self.onmessage({data: port});
const data = new Uint8Array(fs.readFileSync(requests));
const started = Date.now();
function send() {
  try {
    port.onmessage({data});
    fs.closeSync(out);
    exit(0);
  } catch (error) {
    // The module is compiled meanwhile.
    if (Date.now() - started > 60000 || !/is not a function|undefined|HEAPU8|null/.test(String(error))) {
      process.stderr.write(String(error.stack || error) + '\n');
      exit(1);
    }
    setTimeout(send, 50);
  }
}
setTimeout(send, 200);
