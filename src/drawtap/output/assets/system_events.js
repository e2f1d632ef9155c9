// The events of a kernel trace as a list with a search; lines are made for what is in sight.
import {h} from "./dom.js";
import {count} from "./units.js";

const $ = id => document.getElementById(id);

/**
 * Fill the list of the page; return what looks again when the view has changed. @param {any} E columns, names and
 * texts of events @param {() => {a: number, b: number}} view @param {(t: number) => void} chosen an event was clicked
 */
export function eventList(E, view, chosen) {
  const body = $("events-body"), filter = $("events-filter"), list = $("events-list"), lineHigh = 22;
  let found = [], last = "";
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;
  function search() {
    const text = filter.value.trim().toLowerCase();
    const words = text ? text.split(/\s+/) : [], here = $("events-here").checked, {a, b} = view();
    found = [];
    for (let i = 0; i < E.t.length; i++) {
      if (here && (E.t[i] < a || E.t[i] > b)) continue;
      if (words.length) {
        const line =
            `${E.names[E.event[i]]} ${E.comms[E.comm[i]]} ${E.tid[i]} cpu${E.cpu[i]} ${E.text[i]}`.toLowerCase();
        if (!words.every(w => line.includes(w))) continue;
      }
      found.push(i);
    }
    $("events-count").textContent = `${count(found.length)} of ${count(E.t.length)} events`;
    lines();
  }
  function lines() {
    const first = Math.max(0, Math.floor(list.scrollTop / lineHigh) - 5), shown = found.slice(first, first + 32);
    body.style.height = Math.min(found.length * lineHigh, 8e6) + "px";
    body.replaceChildren(...shown.map((i, k) => {
      const cells = [
        ["t", (E.t[i] / 1e9).toFixed(6)], ["c", E.cpu[i] < 0 ? "" : "cpu " + E.cpu[i]],
        ["w", E.comms[E.comm[i]] + (E.tid[i] >= 0 ? ` (${E.tid[i]})` : "")], ["e", E.names[E.event[i]]],
        ["x", E.text[i]]
      ];
      return h(
          "div", {style: {top: (first + k) * lineHigh + "px"}, tabindex: "0", data: {t: E.t[i]}},
          ...cells.map(([name, text]) => h("span", {class: name, text, title: text})));
    }));
  }
  const jump = row => {
    if (row) chosen(+row.dataset.t);
  };
  body.addEventListener("click", e => jump(e.target.closest("div[data-t]")));
  body.addEventListener("keydown", e => {
    if (e.key === "Enter") jump(e.target.closest("div[data-t]"));
  });
  list.addEventListener("scroll", lines);
  filter.addEventListener("input", search);
  $("events-here").addEventListener("change", search);
  search();
  return () => {
    const {a, b} = view(), now = a + " " + b;
    if ($("events-here").checked && now !== last) {
      clearTimeout(timer);
      timer = setTimeout(search, 120);
    }
    last = now;
  };
}
