// The commands of the page, by keys and by name.
import {download, element} from "./dom.js";
import {aboutKeys} from "./furniture.js";
import {copy} from "./parts.js";

const SIDES = ["", "a", "b", "difference", "flicker"];

/** The key that opens a panel. @param {any} panel @param {number} i */
export const keyOf = (panel, i) => panel.key ?? String(i + 1);

/**
 * All commands of the page. `alone`: of one recording; `both`: of two. @param {any} page @param {any[]}
 * panels @returns {any[]}
 */
export function allCommands(page, panels) {
  const here = () => page.store.place.call;
  return [
    {name: "filter the calls", keys: ["/"], run: () => element("filter-text").focus()},
    {name: "go to a call or a #frame", keys: ["g"], run: () => page.prompt()},
    {alone: true, name: "next match of the filter", keys: ["n"], run: () => page.filter.match(1)},
    {alone: true, name: "previous match of the filter", keys: ["N"], run: () => page.filter.match(-1)},
    {both: true, name: "next difference", keys: ["n"], run: () => page.differing(1)},
    {both: true, name: "previous difference", keys: ["N"], run: () => page.differing(-1)},
    {both: true, name: "hide or show frames that are equal", keys: ["h"], run: () => page.filter.toggleMode()},
    {both: true, name: "hold cursor A, cursor B, none", keys: ["H"], run: () => page.hold()},
    {
      both: true,
      name: "pictures: beside, A, B, difference, flicker",
      keys: ["v"],
      run: () =>
          page.store.set({tab: "picture", side: SIDES[(SIDES.indexOf(page.store.place.side) + 1) % SIDES.length]})
    },
    {alone: true, name: "next draw", keys: ["d"], run: () => page.draw(1)},
    {alone: true, name: "previous draw", keys: ["D"], run: () => page.draw(-1)},
    {name: "next frame", keys: ["f"], run: () => page.goFrame(page.recording.frameOf(here() ?? 0) + 1)},
    {name: "previous frame", keys: ["F"], run: () => page.goFrame(page.recording.frameOf(here() ?? 0) - 1)},
    {
      name: "keep a bookmark at this call",
      keys: ["b"],
      run: () => here() !== null &&
          page.notes.add("bookmarks", {seq: here(), text: ""}, page.context(element("panel"), new AbortController()))
    },
    {
      alone: true,
      name: "pin this call: compare states with it",
      keys: ["p"],
      run: () => page.store.set({pin: page.store.place.pin === here() ? null : here()})
    },
    {alone: true, name: "hide or dim what the filter leaves out", keys: ["h"], run: () => page.filter.toggleMode()},
    {alone: true, name: "frames with their draws", keys: ["t"], run: () => page.store.set({list: "tree"})},
    {alone: true, name: "all calls", keys: ["a"], run: () => page.store.set({list: "flat"})},
    {name: "undo: back to where I was", keys: ["u"], run: () => page.store.back()},
    {name: "redo: forward again", keys: ["U"], run: () => page.store.forward()},
    {name: "into the list of calls", keys: ["l"], run: () => page.list.scroller.focus()},
    {name: "into the panel", keys: ["o"], run: () => element("panel").focus()},
    ...panels.map(
        (panel, i) =>
            ({name: `panel: ${panel.name}`, keys: [keyOf(panel, i)], run: () => page.store.set({tab: panel.id})})),
    {name: "pictures of frames above the bars", keys: ["i"], run: () => page.strip.toggle()},
    {name: "timeline", keys: ["T"], run: () => page.timeline.toggle()},
    {name: "into the timeline", keys: ["y"], run: () => page.timeline.toggle(true)},
    {alone: true, name: "look for findings and mark them", keys: [], run: () => page.looked()},
    {alone: true, name: "next finding or problem", keys: ["e"], run: () => page.markBeside(1)},
    {alone: true, name: "previous finding or problem", keys: ["E"], run: () => page.markBeside(-1)},
    {name: "into the bars", keys: ["j"], run: () => page.strip.canvas.focus()},
    {
      name: "copy a link to this place",
      keys: ["c"],
      run: () => {
        page.store.settle();
        copy(location.href, "copied; whoever opens it needs the token too", page.say);
      }
    },
    {
      name: "save the notes as a file",
      keys: [],
      run: () => download(
          `${page.recording.overview.name}.notes.json`, JSON.stringify(page.notes.data, null, 1), "application/json")
    },
    ...aboutKeys(() => page.keys),
  ];
}
