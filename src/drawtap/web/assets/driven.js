// A page that a program drives: it says where it goes, and goes where it is sent.
import {get, put} from "./net.js";
import {format, parse} from "./store.js";

const AGAIN_MS = 2000;
const MOST_FAILURES = 5;

/** @param {import("./store.js").Store} store */
export async function follow(store) {
  let known = 0;
  let said = "";
  store.subscribe((place) => {
    const text = format(place);
    if (text === said) return;
    said = text;
    void put("place", text).catch(() => {});  // the program is gone: the loop below notices
  });
  for (let failures = 0; failures < MOST_FAILURES;) {
    try {
      const next = await get(`place?after=${known}`);
      known = next.number;
      failures = 0;
      if (next.by !== "program" || next.place === format(store.place)) continue;
      const place = parse(next.place);
      said = format(place);
      store.set(place);
    } catch {
      failures += 1;
      await new Promise((done) => setTimeout(done, AGAIN_MS));
    }
  }
}
