// Requests to the server that sent this page. The token comes from the fragment of the address and goes into a header.

const KEY = "drawtap-token";
/** @type {string|null} */
let held = null;

/** An answer that is no answer: what went wrong, and what would help. */
export class ServerError extends Error {
  /** @param {string} message @param {string|null} hint @param {number} status */
  constructor(message, hint, status) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

/** A failure with its hint on a line. @param {any} error */
export const worded = ({message, hint}) => (hint ? `${message} (${hint})` : message);

/** Take the token out of the address, so that a copied address does not hold it. @returns {boolean} */
export function takeToken() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const token = parts.get("token");
  if (token) {
    held = token;
    kept((storage) => storage.setItem(KEY, token));
    parts.delete("token");
    history.replaceState(null, "", `#${parts}`);
  }
  held ??= kept((storage) => storage.getItem(KEY)) ?? null;
  return held !== null;
}

/**
 * Use what the browser keeps for this tab; nothing in a frame of another page, which has none. @template
 * T @param {(storage: Storage) => T} use @returns {T|undefined}
 */
function kept(use) {
  try {
    return use(sessionStorage);
  } catch {
    return undefined;
  }
}

/** @param {string} path @param {RequestInit} [options] */
async function request(path, options = {}) {
  const headers = {authorization: `Bearer ${held ?? ""}`};
  let answer;
  try {
    answer = await fetch(`/api/${path}`, {...options, headers, cache: "no-store"});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError("the server does not answer", "is drawtap view still running?", 0);
  }
  if (answer.ok) return answer;
  let told = {error: `the server answered ${answer.status}`, hint: null};
  try {
    told = await answer.json();
  } catch {
    // not an answer of ours: the status has to do
  }
  throw new ServerError(told.error, told.hint, answer.status);
}

/** @param {string} path @param {AbortSignal} [signal] */
export async function get(path, signal) { return (await request(path, {signal})).json(); }

/** @param {string} path @param {AbortSignal} [signal] */
export async function getBytes(path, signal) { return (await request(path, {signal})).arrayBuffer(); }

/** @param {string} path @param {string} body @param {AbortSignal} [signal] */
export async function postForBytes(path, body, signal) {
  return (await request(path, {method: "POST", body, signal})).arrayBuffer();
}

/** @param {string} path @param {string} body @param {AbortSignal} [signal] */
export async function post(path, body, signal) { return (await request(path, {method: "POST", body, signal})).json(); }

/** @param {string} path @param {string} body */
export async function put(path, body) { return (await request(path, {method: "PUT", body})).json(); }

const AGAIN = 200;  // ms

/**
 * Ask again until there is an answer: where pages share a recording's players, the newest wish overtakes the others,
 * although they are still wanted. @template T @param {() => Promise<T>} ask @param {AbortSignal} signal ends it
 * @returns {Promise<T>}
 */
export async function insist(ask, signal) {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (error.status !== 409 || signal.aborted) throw error;
      await new Promise((done) => setTimeout(done, AGAIN));
      signal.throwIfAborted();
    }
  }
}

let asked = 0;

/** Stop what the server does under a name. @param {number} recording @param {string} name */
const stop = (recording, name) =>
    void request(`${recording}/query/${name}`, {method: "DELETE"}).then((answer) => answer.text()).catch(() => {});

/**
 * A new name for a question; when `signal` aborts, the server stops what it does under that name. @param {number}
 * recording @param {AbortSignal} signal
 */
export function stoppable(recording, signal) {
  const name = fresh();
  signal.addEventListener("abort", () => stop(recording, name), {once: true});
  return name;
}

/** A name for a question that nothing else has. */
export const fresh = () => `${Date.now()}-${asked++}`;

/**
 * Ask something that can take long. Aborting it also stops the work on the server.
 * @param {number} recording @param {string} what "sql" or "filter" @param {string} body @param {AbortSignal} signal
 * @param {string} name
 */
export async function ask(recording, what, body, signal, name = fresh()) {
  const stops = () => stop(recording, name);
  signal.addEventListener("abort", stops, {once: true});
  try {
    return await post(`${recording}/${what}?query=${name}`, body, signal);
  } finally {
    signal.removeEventListener("abort", stops);
  }
}
