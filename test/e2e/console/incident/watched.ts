/**
 * A console that is leant on, before a gateway of its own: what is on the screen is well formed whenever the program
 * rests, and each request that can change something was on the screen when it was confirmed.
 */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { TestTerminal } from "../../../console/support/terminal.ts";
import { startPlane } from "../../admin/support/plane.ts";
import { provider } from "../../config/support/nodes.ts";
import type { Owner } from "../../support/wait.ts";
import { watchRest } from "./at-rest.ts";
import { createMonkey, type MonkeyEvent, type MonkeyOptions } from "./monkey.ts";
import { isWrite, type PassedRequest, passThrough } from "./pass-through.ts";
import { type ConsoleUnderTest, openConsole } from "./scene.ts";

const NAMES = ["search-prod", "chat-prod", "batch-nightly", "PROVIDER_KEY", "default"];
const [SEARCH, CHAT, BATCH] = NAMES;

/** Texts of operators and of their tools, as bad as the admin API takes them. Controls are taken in metadata alone. */
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

/** One node with something of everything that the console lists; resolves with the port of its door. */
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
  /** Of them, those whose request was on the screen, letter by letter. */
  readonly shown: number;
  /** Those whose dialog was higher than the screen, or named more than it has lines for. */
  readonly abridged: number;
  readonly cuts: number;
}

/** From here on the screen is looked at less often, for time's sake. */
const MANY = 2_000;
/**
 * Of confirmations that may still lead to a request: the last, and the one before whose request is on its way. While
 * something is under way no key confirms anything.
 */
const KEPT_FRAMES = 2;
const UNDER_WAY = "running …";
/** Nor does one on a screen that has no room for what would be done. */
const TOO_SMALL = "need 60x16";

/** Through a way of its own to the door at `port`, so that several lean on one gateway. */
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
        passing.trouble = event.trouble;
        return passing.cut();
    }
  }

  const told = (): string =>
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
    assert.equal(end, undefined, `the console has ended: ${JSON.stringify(end)}; ${told()}`);
    await rested(console);
    const why = await whyIllFormed(console);
    assert.equal(why, undefined, `${why}; ${told()}`);
    assert.deepEqual(unshown, [], told());
    passing.trouble = "none";
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

/** The line of the request may be wrapped within its box. */
function isShown(frame: string, { method, target }: PassedRequest): boolean {
  const screen = squeezed(frame);
  return (
    screen.includes(`${method}${squeezed(target)}`) || decoded(screen).includes(`${method}${squeezed(decoded(target))}`)
  );
}

/** A dialog with its button, of which the screen had no room for all. */
const isAbridged = (frame: string): boolean =>
  /lines? (below|above)|and \d+ more/.test(frame) && /Esc {2}(cancel|\/)|y {2}\S/.test(frame);

const LOOKS = 100;
const BETWEEN_MS = 100;

/** Undefined once all is as it must be; a screen that is drawn just now is looked at again. */
async function whyIllFormed(console: ConsoleUnderTest): Promise<string | undefined> {
  for (let look = 1; ; look += 1) {
    const why = illFormed(console);
    if (why === undefined || look === LOOKS) return why;
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
