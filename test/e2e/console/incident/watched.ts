/**
 * A console under random input, with its own gateway: the screen is well formed whenever the program is idle, and each
 * changing request was on the screen when it was confirmed.
 */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { TestTerminal } from "../../../console/support/terminal.ts";
import { startPlane } from "../../admin/support/plane.ts";
import { provider } from "../../config/support/nodes.ts";
import type { Owner } from "../../support/wait.ts";
import { watchRest } from "./at-rest.ts";
import { type ConsoleUnderTest, openConsole } from "./incident-cluster.ts";
import { createMonkey, type MonkeyEvent, type MonkeyOptions } from "./monkey.ts";
import { isWrite, type PassedRequest, passThrough } from "./pass-through.ts";

const NAMES = ["search-prod", "chat-prod", "batch-nightly", "PROVIDER_KEY", "default"];
const [SEARCH, CHAT, BATCH] = NAMES;

/**
 * Texts of operators and their tools, as hostile as the admin API accepts. Control characters are accepted in metadata
 * only.
 */
const HOSTILE: Readonly<Record<string, string>> = {
  joined: "👩\u200d👩\u200d👧\u200d👦 at night",
  flags: "🇩🇪🇫🇷 and half of one 🇩",
  tones: "👍🏽 by 🧑🏿\u200d🚒",
  marks: `z${"\u0301\u0489".repeat(60)}a`,
  directions: "a\u202eb\u2066c\u200ed\u061ce\u2069",
  invisible: "a\u200bb\u2060c\ufeffd\u00ade\u{e0041}f",
  wide: "漢字ｆ한글क्षि",
};
const CONTROLS = "a\u001b[2J\u001b]52;c;eXl5\u0007b\r\n\tc\u0085\u009b31md";
const LONG = "x漢".repeat(5_000);

/** Starts one node with objects of every kind that the console lists; resolves with the port of its listener. */
export async function startLeantOn(owner: Owner): Promise<number> {
  const { node, network } = await startPlane(owner, {
    deployment: {
      version: 1,
      auth: { virtual_keys: true },
      budgets: [{ name: "day", limit: 1_000_000, shared: true }],
      profiles: [
        { name: "standard", budget: "day" },
        { name: "batch" },
        ...Object.values(HOSTILE).map((name) => ({ name })),
      ],
      access_rules: [{ name: "long", at: ["llm"], condition: "false", action: "deny", message: LONG }],
      providers: [
        provider("acme-chat", "http://127.0.0.1:9", {
          api_key: "k",
          models: ["acme-*"],
          failover: { to: ["acme-alt"] },
        }),
        provider("acme-alt", "http://127.0.0.1:9", { api_key: "k", models: ["other-*"] }),
      ],
      default_provider: "acme-chat",
    },
  });
  const { client } = node;
  for (const name of [SEARCH, CHAT, BATCH]) await client.call("create_key", { body: { name: name ?? "" } });
  await client.call("put_secret", { params: { name: "PROVIDER_KEY" }, body: { value: "v" } });
  await client.call("put_suspension", { params: { kind: "model", name: "acme-large" }, body: { reason: "incident" } });
  for (const [what, text] of Object.entries(HOSTILE)) {
    const metadata = { note: text, controls: CONTROLS };
    await client.call("create_key", { body: { name: what, profile: text, metadata } });
    await client.call("put_suspension", { params: { kind: "model", name: what }, body: { reason: text } });
    await client.call("put_acknowledgement", { params: { name: text }, body: { reason: text, duration: "24h" } });
  }
  return network.port;
}

interface LeanOptions extends Omit<MonkeyOptions, "names"> {
  readonly events: number;
}

interface Leant {
  readonly requests: number;
  readonly writes: readonly PassedRequest[];
  /** Number whose request was on the screen, letter by letter. */
  readonly shown: number;
  /** Number whose dialog was higher than the screen or abbreviated its names. */
  readonly abridged: number;
  readonly cuts: number;
}

/** From this event on the screen is checked less often, to save time. */
const MANY = 2_000;
/**
 * Frames of confirmations that may still lead to a request: the last one, and the previous one whose request is in
 * flight. While an action runs no key confirms anything.
 */
const KEPT_FRAMES = 2;
const UNDER_WAY = "running …";
/** On a screen without room for the action no key confirms either. */
const TOO_SMALL = "need 60x16";

/** Uses its own proxy to the listener at `port`, so that several consoles share one gateway. */
export async function leanOn(owner: Owner, port: number, options: LeanOptions): Promise<Leant> {
  const passing = await passThrough(owner, port);
  const { env, rested } = await watchRest(owner);
  const console = await openConsole(owner, { urls: [passing.url], env });
  await console.shows(/ live \ds/);
  const next = createMonkey({ ...options, names: NAMES });
  const frames: string[] = [];
  const writes: PassedRequest[] = [];
  const counts = { shown: 0, abridged: 0, cuts: 0 };
  const unshown: string[] = [];
  const last: string[] = [];
  passing.onRequest = (request) => {
    if (!isWrite(request)) return true;
    writes.push(request);
    if (frames.some((frame) => isShown(frame, request))) counts.shown += 1;
    else if (frames.some(isAbridged)) counts.abridged += 1;
    else unshown.push([`${request.method} ${request.target}`, ...frames.slice(-3)].join("\n"));
    return true;
  };
  let end: unknown;
  void console.ended.then((it) => {
    end = it;
  });

  async function does(event: MonkeyEvent): Promise<void> {
    switch (event.kind) {
      case "bytes":
        if (event.isConfirming && options.confirms) {
          await rested(console);
          const frame = console.screen();
          if (!frame.includes(UNDER_WAY) && !frame.trimStart().startsWith(TOO_SMALL)) frames.push(frame);
          frames.splice(0, frames.length - KEPT_FRAMES);
        }
        last.push(event.bytes);
        return console.type(event.bytes);
      case "size":
        last.push(`(${event.columns}x${event.rows})`);
        return console.resize(event.columns, event.rows);
      case "rest":
        return rested(console);
      case "cut":
        counts.cuts += 1;
        passing.fault = event.fault;
        return passing.cut();
    }
  }

  const situationText = (): string =>
    `seed ${options.seed}, after ${JSON.stringify(last.slice(-60))}\n${console.columns}x${console.rows}\n${console.screen()}`;
  const most = options.events > MANY ? 200 : 40;
  let done = 0;
  while (done < options.events) {
    const burst = 5 + ((done * 7) % most);
    for (let of = 0; of < burst; ) {
      const events = next();
      for (const event of events) await does(event);
      of += Math.max(1, events.length);
      done += Math.max(1, events.length);
    }
    assert.equal(end, undefined, `the console has ended: ${JSON.stringify(end)}; ${situationText()}`);
    await rested(console);
    const reason = await whyIllFormed(console);
    assert.equal(reason, undefined, `${reason}; ${situationText()}`);
    assert.deepEqual(unshown, [], situationText());
    passing.fault = "none";
  }
  return { requests: passing.requests.length, writes, ...counts };
}

const squeezed = (text: string): string => text.replace(/[\s│]/g, "");
const decoded = (target: string): string => {
  try {
    return decodeURIComponent(target);
  } catch {
    return target;
  }
};

/** The line of the request may be wrapped inside its box. */
function isShown(frame: string, { method, target }: PassedRequest): boolean {
  const screen = squeezed(frame);
  return (
    screen.includes(`${method}${squeezed(target)}`) || decoded(screen).includes(`${method}${squeezed(decoded(target))}`)
  );
}

/** A dialog with its button that did not fit on the screen completely. */
const isAbridged = (frame: string): boolean =>
  /lines? (below|above)|and \d+ more/.test(frame) && /Esc {2}(cancel|\/)|y {2}\S/.test(frame);

const LOOKS = 100;
const BETWEEN_MS = 100;

/** Returns `undefined` once the screen is well formed; a screen being drawn is checked again. */
async function whyIllFormed(console: ConsoleUnderTest): Promise<string | undefined> {
  for (let look = 1; ; look += 1) {
    const reason = illFormed(console);
    if (reason === undefined || look === LOOKS) return reason;
    await pause(BETWEEN_MS);
  }
}

function illFormed(console: TestTerminal): string | undefined {
  const { columns, rows } = console;
  if (!console.isAlternate) return "the terminal is not on its other screen";
  if (console.row(rows - 1) !== "") return "the last row is not empty";
  if (columns < 60 || rows < 16) {
    const needs = `need 60x16, have ${columns}x${rows}`;
    return needs.startsWith(console.row(0).replace(/…$/, "")) && console.row(0) !== ""
      ? undefined
      : "it does not say what it needs";
  }
  if (!/^ (gateway|n1) /.test(console.row(0))) return "the identity line is not there";
  if (!/(live|slow|STALE|connecting|FROZEN|OFFLINE|SIGNED OUT)/.test(console.row(0)))
    return "it does not say how fresh it is";
  const foot = rows - 4;
  for (let row = 2; row <= foot; row += 1) {
    const text = console.cells()[row] ?? [];
    const [left, right] = [text[0]?.char, text[columns - 1]?.char];
    const wanted = row === 2 ? "┌┐" : row === foot ? "└┘" : "││";
    if (`${left}${right}` !== wanted) return `row ${row} is between ${left} and ${right}, not ${wanted}`;
  }
  return undefined;
}
