// Every act has a name and stands in one list: keys, the palette (Ctrl-K) and the help (?) come from it.
import {fill, h} from "./dom.js";

/** @typedef {{name: string, keys: string[], run: () => any, alone?: boolean, both?: boolean}} Command */
/**
 * @typedef {{all: () => Command[], read: () => any, write: (keys: Record<string, string>) => any}} Own keys that the
 * user chose, by names of commands
 */

/** @param {KeyboardEvent} event */
const nameOf = (event) => `${event.ctrlKey || event.metaKey ? "Ctrl-" : ""}${event.key}`;

export class Keys {
  /**
   * @param {Command[]} commands @param {(error: unknown) => void} fail what a command that goes wrong
   *     tells @param {Own} [own] where keys may be changed
   */
  constructor(commands, fail, own) {
    this.own = own;
    this.commands = commands;
    this.fail = fail;
    document.addEventListener("keydown", (event) => this.key(event));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const typing = event.target.matches("input, textarea, select");
    const name = nameOf(event);
    if (event.altKey || (typing && !name.startsWith("Ctrl-")) || document.querySelector("dialog[open]")) return;
    const command = this.commands.find((one) => this.keysOf(one).includes(name));
    if (!command) return;
    event.preventDefault();
    this.run(command);
  }

  /** The user's own key of a command, or those it has. @param {Command} command @returns {string[]} */
  keysOf(command) {
    const own = this.own?.read()?.[command.name];
    return typeof own === "string" ? [own] : command.keys;
  }

  /**
   * Another command with this key that the page may have at the same time. @param {Command} command @param {string}
   * key
   */
  holder(command, key) {
    const apart = (/** @type {Command} */ other) => (other.alone && command.both) || (other.both && command.alone);
    return (this.own?.all() ?? this.commands)
        .find((other) => other.name !== command.name && !apart(other) && this.keysOf(other).includes(key));
  }

  /** Take the next key for a command. @param {Command} command @param {HTMLElement} row */
  change(command, row) {
    const {own} = this;
    const told = h("i", {role: "status", text: "press the new key; Backspace: as it was; Escape: leave it"});
    row.append(told);
    const take = async (/** @type {KeyboardEvent} */ event) => {
      if (["Shift", "Control", "Alt", "Meta"].includes(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      const key = nameOf(event), {[command.name]: _, ...rest} = own?.read() ?? {};
      const back = event.key === "Backspace", wanted = back ? command.keys : [key];
      if (event.key === "Escape") return end();
      if (!back && (event.key.length !== 1 || event.key === " " || event.altKey))
        return void (told.textContent = `${key} moves about the page: take a letter, a digit or a sign`);
      for (const one of wanted) {
        const other = this.holder(command, one);
        if (other)
          return void (told.textContent = `${one} is the key of “${other.name}”: change that first, or press another`);
      }
      end();
      try {
        await own?.write(back ? rest : {...rest, [command.name]: key});
      } catch (error) {
        this.fail(error);
      }
      document.querySelector("dialog[open]")?.remove();
      this.help("Keys");
      [...document.querySelectorAll("dialog[open] button")]
          .find((one) => one.getAttribute("aria-label") === `change the key of ${command.name}`)
          ?.dispatchEvent(new Event("chosen"));
    };
    const end = () => {
      told.remove();
      document.removeEventListener("keydown", take, true);
    };
    row.closest("dialog")?.addEventListener("close", end);
    document.addEventListener("keydown", take, true);
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
    const search = h("input", {
      type: "text",
      placeholder: "what do you want to do?",
      "aria-label": "command",
      role: "combobox",
      "aria-controls": "commands",
      "aria-expanded": "true"
    });
    const list = h("ul", {role: "listbox", id: "commands"});
    let at = 0;
    const found = () => this.commands.filter(
        (one) => search.value.toLowerCase().split(" ").every((word) => one.name.toLowerCase().includes(word)));
    const draw = () => {
      const rows = found();
      at = Math.min(Math.max(at, 0), Math.max(rows.length - 1, 0));
      fill(
          list,
          ...rows.map(
              (one, i) => h(
                  "li",
                  {role: "option", id: `command-${i}`, "aria-selected": String(i === at), on: {click: () => run(one)}},
                  one.name, h("span", {}, ...this.keysOf(one).map((key) => h("kbd", {text: key}))))));
      search.setAttribute("aria-activedescendant", `command-${at}`);
      list.children[at]?.scrollIntoView({block: "nearest"});
    };
    const run = (/** @type {Command} */ one) => {
      dialog.close();
      void this.run(one);
    };
    search.addEventListener("input", () => {
      at = 0;
      draw();
    });
    search.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown")
        at++;
      else if (event.key === "ArrowUp")
        at--;
      else if (event.key === "Enter") {
        event.preventDefault();
        const one = found()[at];
        if (one) run(one);
        return;
      } else
        return;
      event.preventDefault();
      draw();
    });
    const dialog = modal(search, list);
    draw();
    search.focus();
  }

  /** A line of the help. @param {Command} command */
  helped(command) {
    const keys = this.keysOf(command), twice = keys.map((key) => this.holder(command, key)).find(Boolean);
    const row =
        h("li", {}, h("span", {text: command.name}),
          h("span", {}, ...keys.map((key) => h("kbd", {text: key})),
            twice && h("b", {class: "bad", text: ` ✕ also of “${twice.name}”`}), this.own && " ",
            this.own && h("button", {
              type: "button",
              "aria-label": `change the key of ${command.name}`,
              text: "change",
              on: {chosen: (/** @type {Event} */ e) => e.target.focus(), click: () => this.change(command, row)}
            })));
    return row;
  }

  help(/** @type {string} */ title, /** @type {string} */ text = "") {
    modal(
        h("h2", {text: title}),
        text ?
            h("pre", {class: "wrap", text}) :
            h("ul", {}, ...this.commands.filter((one) => this.own || one.keys.length).map((one) => this.helped(one)),
              h("li", {}, "in the list: row by row, page by page",
                h("span", {}, ...["↑", "↓", "PageUp", "PageDown", "Home", "End"].map((key) => h("kbd", {text: key})))),
              h("li", {}, "in the list: unfold, fold",
                h("span", {}, ...["→", "←", "Enter"].map((key) => h("kbd", {text: key}))))));
  }
}

/** @param {...HTMLElement} content */
export function modal(...content) {
  const dialog = h("dialog", {on: {close: () => dialog.remove()}}, ...content);
  document.body.append(dialog);
  dialog.showModal();
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  return dialog;
}
