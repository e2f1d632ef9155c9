// Runs a program for the Raspberry Pi where Debian keeps its fonts today, for six frames a tenth of a second apart:
// node program.js PROGRAM < /dev/null.
var fs = require('fs'), path = require('path'), frames = 0;
['readFile', 'readFileSync'].forEach(function (name) {
  var real = fs[name];
  fs[name] = function (file) {
    arguments[0] = String(file).replace('/truetype/ttf-dejavu/', '/truetype/dejavu/');
    return real.apply(this, arguments);
  };
});
global.cancelAnimationFrame = function () {};
global.requestAnimationFrame = function (callback) {
  if (++frames > 6) return 0;
  setTimeout(function () {
    var vg = require(path.resolve('node_modules/openvg'));
    callback(1e12 + 100 * frames);
    vg.egl.swapBuffers(vg.screen.surface);
  }, 0);
  return frames;
};
process.argv.splice(1, 1);
require(path.resolve(process.argv[1]));
