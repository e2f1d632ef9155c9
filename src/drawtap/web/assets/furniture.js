// The surroundings of the content on every page of the server: words below it, tabs, commands about commands.
import {button, element, fill} from "./dom.js";
import {worded} from "./net.js";

/** Say something below the page. @param {string} text @param {boolean} [bad] whether it is about a failure */
export function say(text, bad = false) {
  element("message").textContent = text;
  element("message").className = bad ? "bad" : "";
}

/** Say what went wrong; a question that was stopped is no failure. @param {any} error */
export function fail(error) {
  if (error.name !== "AbortError") say(worded(error), true);
}

/**
 * Make the tabs of panels. @param {{id: string, name: string}[]} panels @param {(id: string) => void} go
 * @param {(panel: any, i: number) => string} [keyOf] the key of a panel
 */
export function makeTabs(panels, go, keyOf = (_, i) => String(i + 1)) {
  const made = panels.map((panel, i) => button(panel.name, () => go(panel.id), {
                            role: "tab",
                            id: `tab-${panel.id}`,
                            "aria-selected": "false",
                            "aria-controls": "panel",
                            title: keyOf(panel, i)
                          }));
  fill(element("tabs"), ...made);
}

/** Mark the tab of the panel that is shown; the page lays out what changes alone. @param {string} id */
export function chooseTab(id) {
  const label = `tab-${id}`, box = element("panel");
  for (const tab of element("tabs").children) {
    const chosen = String(tab.id === label);
    if (tab.ariaSelected !== chosen) tab.setAttribute("aria-selected", chosen);
  }
  if (box.getAttribute("aria-labelledby") !== label) box.setAttribute("aria-labelledby", label);
}

/** Commands about commands. @param {() => import("./keys.js").Keys} keys */
export const aboutKeys = (keys) =>
    [{name: "all commands", keys: ["Ctrl-k"], run: () => keys().palette()},
     {name: "keys", keys: ["?"], run: () => keys().help("Keys")},
];

/**
 * Let an element change the size of its neighbours, by hand and by arrows. @param {HTMLElement} split
 * @param {(event: PointerEvent) => void} drag @param {(event: KeyboardEvent) => number|undefined} stepOf what a key
 * asks for @param {(step: number) => void} move
 */
export function splitter(split, drag, stepOf, move) {
  split.addEventListener("pointerdown", (event) => {
    split.setPointerCapture(event.pointerId);
    split.onpointermove = drag;
    split.onpointerup = () => (split.onpointermove = null);
  });
  split.addEventListener("keydown", (event) => {
    const step = stepOf(event);
    if (!step) return;
    event.preventDefault();
    move(step);
  });
}
