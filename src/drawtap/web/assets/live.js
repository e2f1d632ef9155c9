// Running programs, as the manager sees them: their frame times as they come, why they are held, limits, recordings.
import {button, counted, element, fill, h, number} from "./dom.js";
import {aboutKeys, chooseTab, fail, makeTabs, say} from "./furniture.js";
import {Keys} from "./keys.js";
import {get, post, worded} from "./net.js";
import {bad, facts, failure, n, named, options, quiet, rowed, select, sheet, title, wrap} from "./parts.js";
import {Store} from "./store.js";
import {link} from "./table.js";
import {css, sharp} from "./units.js";

const KEPT_MS = 60_000;  // of frame times on the page
const AGAIN_MS = 1500;
const CLASSES = ["critical", "high", "normal", "background"];
const STEP = 5;  // frames a second
const PANELS =
    [{id: "program", name: "Program"}, {id: "contention", name: "Contention"}, {id: "manager", name: "Manager"}];
const ms = (/** @type {number|null|undefined} */ value) =>
    (value === null || value === undefined ? "–" :
         value < 100                       ? value.toFixed(2) :
                                             value.toFixed(0));

/**
 * Replace what is in an element only where it reads otherwise: what somebody is about to press must
 * stay. @param {Element} box @param {...(Node|string|null|false|undefined)} children
 */
function settle(box, ...children) {
  const made = h("div", {}, ...children.filter((one) => one !== ""));
  if (made.innerHTML !== box.innerHTML) box.replaceChildren(...made.childNodes);
}

/** The last frame times of one surface; what came between two looks and did not fit is a gap. */
class FrameTimes {
  constructor() {
    /** @type {{ms: number, end: number}[]} by the time they ended, ms of the manager's clock */
    this.frames = [];
    this.count = -1;
    this.missed = 0;
  }

  /** @param {any} surface @param {number} now ms of the manager's clock */
  take(surface, now) {
    const recent = surface.recent_ms ?? [];
    const fresh = this.count < 0 ? recent.length : Math.min(Math.max(surface.frames - this.count, 0), recent.length);
    if (this.count >= 0) this.missed += Math.max(surface.frames - this.count - fresh, 0);
    this.count = surface.frames;
    let end = now;
    const added = [];
    for (let i = recent.length - 1; i >= recent.length - fresh; i--) {
      added.push({ms: recent[i], end});
      end -= recent[i];
    }
    // The last frame that the page has decides which frames of the manager are new: times of frames overlap nowhere.
    const last = this.frames.at(-1)?.end ?? -Infinity;
    this.frames.push(...added.reverse().filter((frame) => frame.end > last));
    while (this.frames.length && this.frames[0].end < now - KEPT_MS) this.frames.shift();
  }
}

export class LivePage {
  constructor(session) {
    this.session = session;
    this.store = new Store();
    this.look = {programs: [], recordings: []};
    /** @type {Map<string, FrameTimes>} */
    this.times = new Map();
    document.body.classList.add("live");
    document.title = "running programs – drawtap";
    this.keys = new Keys(this.commands(), fail);
    this.table = h("table", {role: "grid", "aria-label": "running programs", tabindex: "0", class: "programs"});
    element("list").append(h("div", {class: "scroller"}, this.table));
    this.table.addEventListener("pointerdown", (event) => {
      // A look comes twice a second, and a click needs the same row below its end.
      const row = event.target.closest("tbody tr");
      if (row) this.store.set({prog: Number(row.dataset.program)}, {replace: true});
    });
    this.table.addEventListener("keydown", (event) => {
      const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
      if (!step) return;
      event.preventDefault();
      this.choose(step);
    });
    this.chart = h("canvas", {role: "img", class: "chart"});
    this.spread = h("canvas", {role: "img", class: "chart low"});
    this.form = this.makeForm();
    element("menu").addEventListener("click", () => this.keys.palette());
    makeTabs(PANELS, (tab) => this.store.set({tab}));
    new ResizeObserver(() => this.draw()).observe(element("panel"));
  }

  async begin() {
    this.store.subscribe(() => this.show());
    await this.next(0);
    void this.follow();
    this.table.focus();
  }

  async follow() {
    for (let known = this.look.number ?? 0;;) {
      try {
        known = await this.next(known);
      } catch (error) {
        fail(error);
        await new Promise((done) => setTimeout(done, AGAIN_MS));
      }
    }
  }

  /** @param {number} known */
  async next(known) {
    const look = await get(`live?after=${known}`);
    const again = look.number === this.look.number;
    this.look = {programs: [], ...look};
    if (!again) this.take();
    this.show();
    return look.number;
  }

  take() {
    const now = this.look.time_ns / 1e6, there = new Set();
    for (const program of this.look.programs) {
      for (const surface of program.surfaces) {
        const key = `${program.id}/${surface.number}`;
        there.add(key);
        if (!this.times.has(key)) this.times.set(key, new FrameTimes());
        this.times.get(key)?.take(surface, now);
      }
    }
    for (const key of this.times.keys())
      if (!there.has(key)) this.times.delete(key);
    for (const one of this.look.recordings) {
      const was = this.known?.[one.number];
      if (was && was !== one.state)
        say(one.state === "done" ? `recorded: ${one.file}` : one.error, one.state !== "done");
    }
    this.known = Object.fromEntries(this.look.recordings.map((one) => [one.number, one.state]));
  }

  // ---- what is chosen --------------------------------------------------------------------------------------------

  get programs() {
    return [...this.look.programs].sort((a, b) => CLASSES.indexOf(a.class) - CLASSES.indexOf(b.class) || a.id - b.id);
  }

  get program() { return this.programs.find((one) => one.id === this.store.place.prog) ?? this.programs[0] ?? null; }

  /** @param {number} step */
  choose(step) {
    const all = this.programs, at = all.findIndex((one) => one.id === this.program?.id);
    const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
    if (next) this.store.set({prog: next.id}, {replace: true});
  }

  // ---- the list --------------------------------------------------------------------------------------------------

  show() {
    const {look} = this, {manager} = look;
    const alarms = look.programs.reduce((sum, p) => sum + p.alarms.length, 0);
    fill(
        element("what"), h("b", {text: "Running programs"}),
        look.error ? h("span", {class: "bad", text: ` ▲ ${look.error}`}) :
                     ` ${number(look.programs.length)}, manager ${manager.pid}, policies: ${
                         manager.policies.join(", ") || "none"} `,
        alarms > 0 && h("span", {class: "bad", text: `▲ ${counted(alarms, "alarm")}`}),
        manager?.config_error && h("span", {class: "bad", text: ` ▲ the configuration is refused`}));
    fill(element("bar"), h("i", {text: "the most important class first; arrows choose"}));
    const {program} = this;
    if (look.error)
      fill(
          this.table,
          h("caption", {}, ...failure({message: look.error, hint: look.hint}),
            quiet("The page goes on as soon as one answers.")));
    else if (!look.programs.length)
      fill(
          this.table,
          h("caption", {}, h("p", {text: "No program runs under the manager."}),
            h("p", {}, h("code", {text: "drawtap run PROGRAM"}), " starts one.")));
    else {
      const heads = ["program", "class", "FPS", "p50 ms", "p99 ms", "frame times", "limit", "held by"];
      const rows = this.programs.flatMap((one) => (one.surfaces.length ? one.surfaces : [
                                                    null
                                                  ]).map((surface, i) => this.row(one, surface, i, one === program)));
      fill(this.table, ...sheet(heads, rows).children);
    }
    this.panel();
    element("place").textContent = program ? `${program.name} (${program.pid})` : "";
  }

  /** @param {any} program @param {any} surface @param {number} i @param {boolean} chosen */
  row(program, surface, i, chosen) {
    const limit = (surface ?? program).limit, times = surface?.frame_ms;
    const marks =
        program.alarms.map((alarm) => h("em", {class: "mark warning", text: `▲ ${alarm.rule}`, title: alarm.text}));
    const who = i ? [`  surface ${surface.number}`] : [
      h("b", {text: program.name}), h("i", {text: ` ${program.pid}`}),
      program.recording && h("em", {class: "kind", text: "● rec"}), ...marks
    ];
    const held = limit ? `${limit.origin}: ${limit.reason}` : program.free ? `free: ${program.free}` : "";
    return rowed(
        [
          h("td", {class: "mono"}, ...who), i ? "" : program.class, n(surface ? surface.fps.toFixed(1) : "–"),
          n(ms(times?.p50)), n(ms(times?.p99)),
          surface ? this.spark(program, surface) : h("i", {text: program.observed ? "observed only" : "no frames"}),
          n(limit ? `${limit.fps}` : "–"), wrap(held)
        ],
        {role: "row", "aria-selected": String(chosen), class: chosen ? "chosen" : "", data: {program: program.id}});
  }

  spark(program, surface) {
    const frames = this.times.get(`${program.id}/${surface.number}`)?.frames.slice(-120) ?? [];
    const canvas = h("canvas", {width: 120, height: 18, "aria-hidden": "true", class: "spark"});
    const context = canvas.getContext("2d");
    const most = Math.max(...frames.map((frame) => frame.ms), 1);
    if (context) context.fillStyle = css("--t0");
    frames.forEach(
        (frame, i) => context?.fillRect(120 - frames.length + i, 18 - Math.max((18 * frame.ms) / most, 1), 1, 18));
    return canvas;
  }

  // ---- the panels ------------------------------------------------------------------------------------------------

  panel() {
    const {program} = this, {id} = PANELS.find((one) => one.id === this.store.place.tab) ?? PANELS[0];
    chooseTab(id);
    if (this.look.error) return fill(element("panel"), quiet("nothing is known while no manager answers"));
    if (id === "manager") return this.showManager();
    if (id === "contention") return this.showContention();
    if (!program) return fill(element("panel"), quiet("no program runs"));
    if (this.shown !== `${program.id}` || !this.form.box.isConnected) this.frame(program);
    this.update(program);
  }

  makeForm() {
    const fps = h("input", {
      type: "number",
      min: 1,
      max: 10000,
      step: "any",
      id: "fps",
      "aria-label": "frames a second",
      placeholder: "FPS"
    });
    const surface = h("select", {"aria-label": "surface"});
    const importance =
        select("class", CLASSES.map((name) => [name, name]), (name) => void this.wish({op: "class", class: name}));
    const frames = h("input", {type: "number", min: 1, max: 100000, value: 120, "aria-label": "frames to record"});
    const limit = () => void this.limit(Number(fps.value) || null);
    fps.addEventListener("keydown", (event) => {
      if (event.key === "Enter") limit();
      if (event.key === "Escape") this.table.focus();
    });
    const acts = [
      fps, surface, button("limit", limit, {title: "Enter"}),
      button("no limit of yours", () => void this.limit(null), {title: "what policies say holds again (n)"}),
      button("free", () => void this.wish({op: "limit", free: true}), {title: "no limit, whatever policies say (f)"})
    ];
    const record = button("record", () => void this.record(), {title: "r"});
    const why = h("p", {class: "why"}), now = h("p", {role: "status"}), done = h("div"), head = h("div");
    const surfaces = h("div", {class: "scroll"}), rest = h("div");
    const box =
        h("div", {}, head, now, this.chart, this.spread, title("Limit and class"), h("div", {class: "tools"}, ...acts),
          h("div", {class: "tools"}, "class", importance), why, title("Recording"),
          h("div", {class: "tools"}, frames, "frames", record), done, title("Surfaces"), surfaces, rest);
    return {box, fps, surface, importance, frames, acts, record, why, now, surfaces, rest, done, head};
  }

  /**
   * The part of the page that stays while frames come: text that somebody types must not go away. @param {any} program
   */
  frame(program) {
    this.shown = `${program.id}`;
    fill(element("panel"), this.form.box);
    this.form.fps.value = "";
  }

  update(program) {
    const {form, look} = this;
    const wants = program.goal_fps ? `, ${program.goal_fps} FPS wanted` : "";
    settle(form.head, title(program.name, `process ${program.pid}, class ${program.class}${wants}`));
    form.now.textContent = pace(program.surfaces[0]);
    if (document.activeElement !== form.importance) form.importance.value = program.class;
    settle(
        form.surface,
        ...options([["", "all surfaces"], ...program.surfaces.map((s) => [s.number, `surface ${s.number}`])]));
    const own = program.uid === look.you.uid;
    const bound = program.observed ? "The kernel's probes alone see this program: it cannot be limited." : "";
    for (const act of [...form.acts, form.importance]) act.disabled = Boolean(bound);
    form.record.toggleAttribute("disabled", Boolean(bound) || !own || program.recording);
    settle(
        form.why,
        bound ||
            (!own &&
             `Only user ${program.uid} can record it: sudo -u '#${program.uid}' drawtap record --pid ${program.pid}`) ||
            "",
        ...program.alarms.map(
            (alarm) => h(
                "span", {class: "bad", text: ` ▲ ${alarm.rule}, for ${alarm.since_s.toFixed(0)} s: ${alarm.text} `})));
    settle(form.done, ...look.recordings.filter((one) => one.program === program.pid).map((one) => this.recorded(one)));
    const rows = program.surfaces.map(
        (s) =>
            [n(s.number), s.kind, s.width ? `${s.width} × ${s.height}` : "–", n(s.swap_interval ?? "–"),
             n(number(s.frames)), n(number(s.lost ?? 0)),
             s.limit ? `${s.limit.fps} (${s.limit.origin}, ${s.limit.pacing})` : "–"]);
    settle(
        form.surfaces,
        rows.length ? sheet(["", "kind", "size", "swap interval", "frames", "not seen", "limit"], rows) :
                      quiet("none yet"));
    const values =
        Object.entries(program.values ?? {})
            .map(([name, one]) => named(name, n(one.value), h("i", {text: `${one.age_s.toFixed(1)} s ago`})));
    settle(
        form.rest, values.length > 0 && title("Values"), values.length > 0 && h("table", {}, ...values),
        title("Process"), facts([
          ["command", (program.command ?? []).join(" ")], ["group", program.cgroup], ["user", program.uid],
          ["profile", program.profile || "none"]
        ]));
    this.draw();
  }

  /** The end of a recording of a program, or its state. @param {any} one */
  recorded(one) {
    if (one.state === "failed") return bad(worded({message: one.error, hint: one.hint}));
    if (one.state !== "done") return h("p", {text: "recording …"});
    return h("p", {}, `${one.file} `, button("look at it", () => this.store.leave(`page=recording&rec=${one.page}`)));
  }

  /** The programs below their wish, and the programs that are held for others: the manager's own words. */
  showContention() {
    const all = this.programs.filter((one) => one.surfaces.length);
    const below = all.filter((one) => one.goal_fps && one.fps < 0.95 * one.goal_fps);
    const held = all.filter((one) => one.limit && !["user", "profile", "start"].includes(one.limit.origin));
    const alarms = all.flatMap((one) => one.alarms.map((alarm) => ({one, alarm})));
    const line = (one, /** @type {string} */ text) =>
        [link(one.name, () => this.store.set({prog: one.id, tab: "program"})), one.class, n(one.fps.toFixed(1)),
         wrap(text)];
    const section = (/** @type {string} */ name, /** @type {string} */ last, rows, /** @type {string} */ none) =>
        [title(name), rows.length ? sheet(["program", "class", "FPS", last], rows) : h("p", {text: none})];
    const {notes, policies} = this.look.manager;
    settle(
        element("panel"),
        ...section(
            "Below what they want", "wanted", below.map((one) => line(one, `${one.goal_fps}`)),
            all.some((one) => one.goal_fps) ? "Every program that has a goal reaches it." :
                                              "No program has a goal: a class or a profile gives one."),
        ...section(
            "Held for the sake of others", "limit and why",
            held.map((one) => line(one, `${one.limit.fps} FPS, ${one.limit.origin}: ${one.limit.reason}`)),
            policies.length ? "No policy holds anybody." : "No policy decides here."),
        ...section(
            "Alarms", "alarm", alarms.map(({one, alarm}) => line(one, `▲ ${alarm.rule}: ${alarm.text}`)),
            "no alarm is on"),
        notes.length > 0 && title("What the policies say"), ...notes.map((text) => h("p", {text})),
        h("p", {}, h("i", {text: "A kernel trace shows which program keeps another one waiting on the GPU: "}),
          h("code", {text: "drawtap system record"})));
  }

  showManager() {
    const {manager, you} = this.look;
    const absent = Object.entries(manager.not_available);
    const rows = [
      ["process", manager.pid], ["runs for", `${manager.uptime_s.toFixed(0)} s`],
      ["decides every", `${manager.period_s} s`], ["policies", manager.policies.join(", ") || "none"],
      ["configuration", manager.config ?? "none"],
      ["you may", you.admin ? "limit everybody's programs" : "limit your own programs"],
      ["programs refused", manager.refused]
    ];
    settle(
        element("panel"), title("Manager"),
        manager.config_error && bad(`▲ the configuration is refused: ${manager.config_error}`), facts(rows),
        ...(absent.length ? [title("Signals that are not there"), facts(absent, "wrap")] : []));
  }

  // ---- pictures --------------------------------------------------------------------------------------------------

  draw() {
    const {program} = this, surface = program?.surfaces[0];
    if (!this.chart.isConnected || !surface) return;
    const frames = this.times.get(`${program.id}/${surface.number}`)?.frames ?? [];
    const now = this.look.time_ns / 1e6, goal = program.goal_fps ? 1000 / program.goal_fps : 0,
          limit = surface.limit ? 1000 / surface.limit.fps : 0;
    timesChart(this.chart, frames, now, [[limit, "limit"], [goal, "goal"]]);
    spreadChart(this.spread, frames.map((frame) => frame.ms));
  }

  // ---- acts ------------------------------------------------------------------------------------------------------

  /** Ask for something about the chosen program. @param {string} path @param {any} what @param {string} done */
  async request(path, what, done) {
    const {program} = this;
    if (!program) return say("no program runs", true);
    try {
      await post(path, JSON.stringify({...what, program: program.pid}));
      say(`${program.name}${done}`);
    } catch (error) {
      fail(error);
    }
  }

  wish(what) { return this.request("live/ask", what, ": done"); }

  /** @param {number|null} fps */
  limit(fps) {
    const surface = Number(this.form.surface.value);
    return this.wish({op: "limit", fps, ...(surface ? {surface} : {})});
  }

  /** @param {1|-1} step */
  more(step) {
    const {program} = this, now = program?.limit?.fps ?? program?.fps;
    if (now) void this.limit(Math.max(1, Math.round(now + step * STEP)));
  }

  record() { return this.request("live/record", {frames: Number(this.form.frames.value) || 120}, " is recorded"); }

  commands() {
    return [
      {
        name: "limit the program",
        keys: ["l"],
        run: () => {
          this.store.set({tab: "program"});
          this.form.fps.focus();
        }
      },
      {name: "five frames a second more", keys: ["+", "="], run: () => this.more(1)},
      {name: "five frames a second fewer", keys: ["-"], run: () => this.more(-1)},
      {name: "no limit of yours", keys: ["n"], run: () => void this.limit(null)},
      {name: "free it from policies", keys: ["f"], run: () => void this.wish({op: "limit", free: true})},
      {
        name: "the next class",
        keys: ["c"],
        run: () => this.program &&
            void this.wish({op: "class", class: CLASSES[(CLASSES.indexOf(this.program.class) + 1) % CLASSES.length]})
      },
      {name: "record the next frames", keys: ["r"], run: () => void this.record()},
      {name: "next program", keys: ["j"], run: () => this.choose(1)},
      {name: "previous program", keys: ["k"], run: () => this.choose(-1)},
      {name: "into the list", keys: ["Escape"], run: () => this.table.focus()},
      ...PANELS.map(
          ({id, name}, i) => ({name: `panel: ${name}`, keys: [String(i + 1)], run: () => this.store.set({tab: id})})),
      ...aboutKeys(() => this.keys),
    ];
  }
}

/** The pace of a surface in words. @param {any} [surface] */
function pace(surface) {
  if (!surface) return "it has shown no frame lately";
  const {fps, frame_ms: times, waited} = surface;
  return [
    `${fps.toFixed(1)} frames a second`,
    times && `half of them take up to ${ms(times.p50)} ms, one in a hundred more than ${ms(times.p99)} ms`,
    waited > 0.005 && `${(100 * waited).toFixed(0)} % of the time it waits for its limit`
  ].filter(Boolean)
      .join("; ");
}

/**
 * Frame times over the last half minute. @param {HTMLCanvasElement} canvas @param {{ms: number, end: number}[]}
 * frames @param {number} now @param {[number, string][]} lines
 */
function timesChart(canvas, frames, now, lines) {
  const {clientWidth: width, clientHeight: height} = canvas, context = sharp(canvas, width, height);
  const shown = frames.filter((frame) => frame.end > now - KEPT_MS / 2), left = 44, low = height - 16;
  const sorted = shown.map((frame) => frame.ms).sort((a, b) => a - b);
  const top = Math.max((sorted[Math.floor(sorted.length * 0.995)] ?? 1) * 1.25, ...lines.map(([at]) => at * 1.15), 1);
  const x = (/** @type {number} */ time) => left + ((time - now + KEPT_MS / 2) / (KEPT_MS / 2)) * (width - left - 4),
        y = (/** @type {number} */ value) => low - (Math.min(value, top) / top) * (low - 6);
  context.fillStyle = css("--soft");
  context.strokeStyle = css("--hair");
  for (let i = 0; i <= 2; i++) {
    const value = (top * i) / 2;
    context.textAlign = "right";
    context.fillText(i ? (value < 10 ? value.toFixed(1) : value.toFixed(0)) : "0 ms", left - 6, y(value) + 4);
    context.beginPath();
    context.moveTo(left, y(value) + 0.5);
    context.lineTo(width, y(value) + 0.5);
    context.stroke();
  }
  for (const seconds of [30, 20, 10, 0]) {
    context.textAlign = seconds === 30 ? "left" : seconds ? "center" : "right";
    context.fillText(seconds ? `−${seconds} s` : "now", x(now - seconds * 1000), height - 3);
  }
  context.fillStyle = css("--t0");
  for (const frame of shown) context.fillRect(Math.max(x(frame.end) - 1, left), y(frame.ms), 1.5, low - y(frame.ms));
  for (const [at, name] of lines) {
    if (!at) continue;
    context.strokeStyle = context.fillStyle = css(name === "limit" ? "--orange" : "--green");
    context.setLineDash(name === "limit" ? [5, 3] : [2, 3]);
    context.beginPath();
    context.moveTo(left, y(at));
    context.lineTo(width, y(at));
    context.stroke();
    context.textAlign = "left";
    context.fillText(`${name} ${at.toFixed(1)} ms`, left + 6, y(at) - 4);
  }
  context.setLineDash([]);
  canvas.setAttribute(
      "aria-label",
      `frame times of the last 30 s: ${shown.length} frames, ${
          sorted.length ? `from ${ms(sorted[0])} to ${ms(sorted.at(-1))} ms` : "none"}`);
}

/** The number of frames by their time. @param {HTMLCanvasElement} canvas @param {number[]} times */
function spreadChart(canvas, times) {
  const {clientWidth: width, clientHeight: height} = canvas, context = sharp(canvas, width, height);
  if (!times.length) return;
  const left = 44, low = height - 16, bins = 60;
  const sorted = [...times].sort((a, b) => a - b), from = sorted[0],
        to = Math.max(sorted[Math.floor(sorted.length * 0.995)], from + 0.5);
  const counts = new Array(bins).fill(0);
  for (const time of times) counts[Math.min(Math.floor(((time - from) / (to - from)) * bins), bins - 1)]++;
  const most = Math.max(...counts), wide = (width - left - 4) / bins;
  context.fillStyle = css("--t2");
  counts.forEach(
      (count, i) => count &&
          context.fillRect(
              left + i * wide, low - Math.max((count / most) * (low - 4), 1), wide - 1,
              Math.max((count / most) * (low - 4), 1)));
  context.fillStyle = css("--soft");
  context.textAlign = "left";
  context.fillText(`${ms(from)} ms`, left, height - 3);
  context.textAlign = "right";
  context.fillText(`${ms(to)} ms and more`, width, height - 3);
  context.fillText(number(most), left - 6, 14);
  canvas.setAttribute("aria-label", `how long the frames of the last minute took: ${times.length} frames`);
}
