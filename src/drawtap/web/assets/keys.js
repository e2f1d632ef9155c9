// Every act has a name and stands in one list: keys, the palette (Ctrl-K) and the help (?) come from it.
import { fill, h } from "./dom.js";

/** @typedef {{name: string, keys: string[], run: () => any}} Command */

export class Keys {
  /** @param {Command[]} commands @param {(error: unknown) => void} fail what a command that goes wrong tells */
  constructor(commands, fail) {
    this.commands = commands;
    this.fail = fail;
    document.addEventListener("keydown", (event) => this.key(event));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const typing = /** @type {HTMLElement} */ (event.target).matches("input, textarea, select");
    const name = `${event.ctrlKey || event.metaKey ? "Ctrl-" : ""}${event.key.length === 1 ? event.key : event.key}`;
    if (event.altKey || (typing && !name.startsWith("Ctrl-")) || document.querySelector("dialog[open]")) return;
    const command = this.commands.find((one) => one.keys.includes(name));
    if (!command) return;
    event.preventDefault();
    this.run(command);
  }

  /** @param {Command} command */
  async run(command) {
    try {
      await command.run();
    } catch (error) {
      this.fail(error);
    }
  }

  palette() {
    const search = /** @type {HTMLInputElement} */ (h("input", { type: "text", placeholder: "what do you want to do?", "aria-label": "command", role: "combobox", "aria-controls": "commands", "aria-expanded": "true" }));
    const list = h("ul", { role: "listbox", id: "commands" });
    let at = 0;
    const found = () => this.commands.filter((one) => search.value.toLowerCase().split(" ").every((word) => one.name.toLowerCase().includes(word)));
    const draw = () => {
      const rows = found();
      at = Math.min(Math.max(at, 0), Math.max(rows.length - 1, 0));
      fill(list, ...rows.map((one, i) => h("li", { role: "option", id: `command-${i}`, "aria-selected": String(i === at), on: { click: () => run(one) } }, one.name, h("span", {}, ...one.keys.map((key) => h("kbd", { text: key }))))));
      search.setAttribute("aria-activedescendant", `command-${at}`);
      list.children[at]?.scrollIntoView({ block: "nearest" });
    };
    const run = (/** @type {Command} */ one) => { dialog.close(); void this.run(one); };
    search.addEventListener("input", () => { at = 0; draw(); });
    search.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") at++;
      else if (event.key === "ArrowUp") at--;
      else if (event.key === "Enter") { event.preventDefault(); const one = found()[at]; if (one) run(one); return; }
      else return;
      event.preventDefault();
      draw();
    });
    const dialog = modal(search, list);
    draw();
    search.focus();
  }

  help(/** @type {string} */ title, /** @type {string} */ text = "") {
    modal(h("h2", { text: title }),
      text ? h("pre", { class: "wrap", text })
        : h("ul", {}, ...this.commands.filter((one) => one.keys.length).map((one) => h("li", {}, one.name, h("span", {}, ...one.keys.map((key) => h("kbd", { text: key }))))),
          h("li", {}, "in the list: row by row, page by page", h("span", {}, ...["↑", "↓", "PageUp", "PageDown", "Home", "End"].map((key) => h("kbd", { text: key })))),
          h("li", {}, "in the list: unfold, fold", h("span", {}, ...["→", "←", "Enter"].map((key) => h("kbd", { text: key }))))));
  }
}

/** @param {...HTMLElement} content */
export function modal(...content) {
  const dialog = /** @type {HTMLDialogElement} */ (h("dialog", { on: { close: () => dialog.remove() } }, ...content));
  document.body.append(dialog);
  dialog.showModal();
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  return dialog;
}
