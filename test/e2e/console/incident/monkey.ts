/** Random input from a seed: keys, pastes, bytes that are not keys, sizes, broken connections. */
import { NAMED_CHORDS } from "../../../../src/console/model/key-event.ts";
import { VIEWS } from "../../../../src/console/views/all.ts";
import { bytesOfChord } from "../../../console/support/chords.ts";
import { createRandom, type Random } from "../../cluster/support/random.ts";
import { CONNECTION_FAULTS, type ConnectionFault } from "./pass-through.ts";

export type MonkeyEvent =
  | { readonly kind: "bytes"; readonly bytes: string; readonly isConfirming: boolean }
  | { readonly kind: "size"; readonly columns: number; readonly rows: number }
  /** Waits until the program has drawn everything and would take an Esc as a key. */
  | { readonly kind: "rest" }
  /** Breaks all connections, and applies this fault to new ones for the next few events. */
  | { readonly kind: "cut"; readonly fault: ConnectionFault };

export interface MonkeyOptions {
  readonly seed: number;
  /** Whether it presses `y`, marks rows and types names, as confirmations need. */
  readonly confirms: boolean;
  /** Existing names to type. */
  readonly names: readonly string[];
}

/** Letters without those that quit the console (`q`, ctrl-c) or stop it (ctrl-z). */
const CALM = [..."abcdefghijklmnoprstuvwxzABCDEFGHIJKLMNOPRSTUVWXZ0123456789:/?-_=.,;!#é漢"];
/** Verbs that open dialogs, and the keys to the views where they work. */
const VERBS = [..."ssuEnmTXRBPIwL12345678"];
const CHORDS = [...NAMED_CHORDS, "ctrl-a", "ctrl-d", "ctrl-e", "ctrl-k", "ctrl-l", "ctrl-p", "ctrl-r"];
/** Key that confirms from inside a field. */
const CONFIRM = "ctrl-o";
/** Keys that mark rows; several are confirmed by their number. */
const MARKING: ReadonlySet<string> = new Set(["space", "shift-up", "shift-down", "ctrl-space"]);
const ARROWS = ["up", "down", "left", "right", "tab", "shift-tab", "esc", "esc", "backspace"] as const;
/** Pasted texts, which never act as keys. */
const PASTES = ["y", "y\ry\r", "yyy\n", "s\ry", "\u0000\u0007\u009b31m", "select 1;\n", "(a+)+$", "x".repeat(5_000)];
/** Terminal sequences that are not keys, complete and truncated; a `y` in them is not a key either. */
const NO_KEYS = [
  "\u001b[<0;10;5M",
  "\u001b[M !y",
  "\u001b[I",
  "\u001b[O",
  "\u001b]11;rgb:1414/1616/1b1b\u0007",
  "\u001b]52;c;eXl5\u001b\\",
  "\u001bP1$ry\u001b\\",
  "\u001b[?62;22c",
  "\u001b[121;5u",
  "\u001by",
  "\u001b[[C",
  "\u009b",
];
const COMMANDS = [
  ...VIEWS.map(({ id }) => id),
  "errors acme-chat",
  "packs ./nowhere",
  "rev default",
  "prov /a",
  "log",
  "help",
  "secrets",
  "no such",
];

export function createMonkey({ seed, confirms, names }: MonkeyOptions): () => readonly MonkeyEvent[] {
  const random = createRandom(seed);
  const typed = (text: string): readonly MonkeyEvent[] => [...text].map((one) => bytes(one, confirms && one === "y"));
  const enter = bytes("\r", true);
  const chord = (one: string): MonkeyEvent =>
    one === "enter" ? enter : bytes(MARKING.has(one) && !confirms ? "j" : bytesOfChord(one), false);

  const makers: readonly (readonly [weight: number, make: () => readonly MonkeyEvent[]])[] = [
    [30, () => typed(random.pick(CALM))],
    [20, () => typed(random.pick(VERBS))],
    [14, () => [chord(random.pick(CHORDS))]],
    [confirms ? 1 : 0, () => [bytes(bytesOfChord(CONFIRM), true)]],
    [14, () => [chord(random.pick(ARROWS))]],
    [4, () => [paste(random.pick(confirms ? [...PASTES, ...names] : PASTES))]],
    [4, () => [bytes(random.pick(NO_KEYS), false)]],
    [6, () => [mouse(random)]],
    // If this Esc became the start of Alt-:, the `q` would be a key.
    [3, () => [...ROOT, ...typed(`:${random.pick(COMMANDS)}`), enter]],
    [3, () => [sizeOf(random)]],
    [1, () => [{ kind: "cut", fault: random.pick(CONNECTION_FAULTS) }]],
    [confirms ? 5 : 0, () => [bytes("y", true)]],
    [confirms ? 3 : 0, () => [...typed(random.pick(names)), enter]],
    [
      confirms ? 3 : 0,
      () => [...ROOT, ...typed(random.pick(["2s", "2u", "1s", "1u", "8s", "3s", "3u"])), enter, bytes("y", true)],
    ],
    [confirms ? 2 : 0, () => [...ROOT, ...typed(`3m${random.below(10_000)}`), ...FOUR_TABS, bytes("y", true)]],
    [confirms ? 1 : 0, () => [...ROOT, ...typed("3  X2"), enter]],
    [
      confirms ? 1 : 0,
      () => [...ROOT, ...typed(`3/${random.pick(names)}`), enter, ...typed(`X${random.pick(names)}`), enter],
    ],
  ];
  const whole = makers.reduce((sum, [weight]) => sum + weight, 0);
  return () => {
    let left = random.below(whole);
    for (const [weight, make] of makers) {
      left -= weight;
      if (left < 0) return make();
    }
    return [];
  };
}

const bytes = (text: string, isConfirming: boolean): MonkeyEvent => ({ kind: "bytes", bytes: text, isConfirming });
const paste = (text: string): MonkeyEvent => bytes(`\u001b[200~${text}\u001b[201~`, false);
/** Presses, releases, drags and wheels, with Shift, Alt and Ctrl, on the screen and beyond it. */
function mouse(random: Random): MonkeyEvent {
  const button = random.pick([0, 0, 0, 1, 2, 32, 64, 65, 66, 67, 128]) + random.pick([0, 0, 0, 4, 8, 16]);
  const [column, row] = [1 + random.below(200), 1 + random.below(60)];
  return bytes(`\u001b[<${button};${column};${row}${random.pick(["M", "M", "m"])}`, false);
}
const FOUR_TABS = Array.from({ length: 4 }, () => bytes("\t", false));
/** Returns from most places to one where digits switch views. */
const ROOT: readonly MonkeyEvent[] = [bytes("\u001b".repeat(4), false), { kind: "rest" }];

/** Sometimes too small for anything; a terminal below 40 by 10 is treated as that size. */
function sizeOf(random: Random): MonkeyEvent {
  if (random.below(5) === 0) return { kind: "size", columns: 40 + random.below(30), rows: 10 + random.below(10) };
  return { kind: "size", columns: 60 + random.below(120), rows: 16 + random.below(40) };
}
