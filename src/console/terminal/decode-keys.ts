/**
 * Decoder of a terminal's keyboard input to key events: UTF-8 text, control bytes, escape sequences (ECMA-48, XTerm Control
 * Sequences) and bracketed pastes, in chunks of any size. Pure: the reader measures time, and calls `flush` after a pause,
 * since a lone ESC byte is the Esc key and otherwise begins a sequence.
 *
 * The terminal's answer to a status query (ECMA-48, 8.3.35) arrives among the keys and is separated from them. Unknown input
 * (mouse and focus reports, colors, unknown keys) is consumed to its last byte: its tail would be letters, and letters are
 * verbs. In doubt a key is lost rather than invented.
 */

import { escapeControls } from "../../base/index.ts";
import type { Chord, KeyEvent } from "../model/key-event.ts";
import { type MouseReport, mouseReport } from "./mouse-reports.ts";
import { createPasteReader, type PasteReader } from "./paste-reader.ts";
import { chordOfCsi, chordOfSs3 } from "./sequences.ts";
import { createUtf8Reader } from "./utf8.ts";

interface Decoder {
  feed(bytes: Uint8Array): readonly KeyEvent[];
  /** Reports a pause: a lone ESC was the Esc key. Other incomplete input stays incomplete. */
  flush(): readonly KeyEvent[];
  /** Whether input is incomplete. */
  readonly isPending: boolean;
}

/** Maximum length of a sequence's parameters; longer sequences are skipped to their end. */
const MAX_SEQUENCE_LENGTH = 64;
/** Maximum length of a reply (OSC, DCS and the like) without its terminator, after which it is abandoned. */
const MAX_REPLY_LENGTH = 4_096;

const ESC = 0x1b;
const CAN = 0x18;
const SUB = 0x1a;
const BEL = 0x07;
const OSC = 0x5d;

type State =
  | { readonly kind: "ground"; readonly isAlt: boolean }
  | { readonly kind: "escape" }
  | { readonly kind: "csi" | "ss3"; readonly parameters: string }
  /** OSC, DCS, SOS, PM and APC: up to BEL or ST. `opened` is the byte after ESC, `last` the previous one. */
  | {
      readonly kind: "reply";
      readonly opened: number;
      readonly length: number;
      readonly last: number;
      /** Start of the reply. */
      readonly text: string;
    }
  /** Number of remaining bytes of a report without a final byte. */
  | { readonly kind: "skip"; readonly left: number }
  /** Byte after `CSI [`, which the Linux console sends for its first five function keys. */
  | { readonly kind: "linux" }
  | { readonly kind: "paste"; readonly reader: PasteReader };

const GROUND: State = { kind: "ground", isAlt: false };
const REPLIES: ReadonlySet<number> = new Set(Array.from("PX]^_", (character) => character.charCodeAt(0)));

/**
 * Creates a decoder. `onAnswer` is called when the terminal answers the status query `CSI 5 n`; `onReply` with the first 64
 * characters of its reply to an operating system command (OSC), without its delimiters.
 */
export function createDecoder(
  onAnswer: () => void = () => undefined,
  onReply: (text: string) => void = () => undefined,
  onMouse: (report: MouseReport) => void = () => undefined,
): Decoder {
  const utf8 = createUtf8Reader();
  let state: State = GROUND;
  let events: KeyEvent[] = [];

  function push(byte: number): void {
    const found = step(byte);
    if (found !== undefined) events.push(typeof found === "string" ? { kind: "key", chord: found } : found);
  }

  function step(byte: number): Chord | KeyEvent | undefined {
    switch (state.kind) {
      case "ground":
        return decodeGround(byte, state.isAlt);
      case "escape":
        return decodeAfterEscape(byte);
      case "csi":
      case "ss3":
        return decodeSequence(byte, state.kind, state.parameters);
      case "reply":
        return decodeReply(byte, state);
      case "skip":
        state = state.left > 1 ? { kind: "skip", left: state.left - 1 } : GROUND;
        return undefined;
      case "linux":
        state = GROUND;
        // Maps the bytes `A` to `E` to F1 to F5.
        return byte >= 0x41 && byte <= 0x45 ? `f${byte - 0x40}` : undefined;
      case "paste": {
        const text = state.reader.push(byte);
        if (text === undefined) return undefined;
        state = GROUND;
        return { kind: "paste", text };
      }
    }
  }

  function decodeGround(byte: number, isAlt: boolean): Chord | undefined {
    const point = utf8.push(byte);
    if (utf8.isPending) return undefined;
    state = GROUND;
    if (point === undefined) return undefined;
    if (point === ESC) state = { kind: "escape" };
    else if (point >= 0x80 && point <= 0x9f) beginSequence(point - 0x40);
    else return withAlt(chordOfCharacter(point), isAlt);
    return undefined;
  }

  function decodeAfterEscape(byte: number): Chord | KeyEvent | undefined {
    state = GROUND;
    if (byte === ESC) {
      state = { kind: "escape" };
      return "esc";
    }
    if (beginSequence(byte)) return undefined;
    if (byte >= 0x80) {
      state = { kind: "ground", isAlt: true };
      return decodeGround(byte, true);
    }
    const chord = chordOfCharacter(byte);
    if (byte >= 0x20 || chord === "enter" || chord === "backspace") return withAlt(chord, true);
    // Other control keys have no Alt variant, and none may be lost: they become Esc and the key.
    events.push({ kind: "key", chord: "esc" });
    return chord;
  }

  /** Handles the byte after ESC; returns `false` if it does not introduce a sequence. */
  function beginSequence(byte: number): boolean {
    if (byte === 0x5b) state = { kind: "csi", parameters: "" };
    else if (byte === 0x4f) state = { kind: "ss3", parameters: "" };
    else if (REPLIES.has(byte)) state = { kind: "reply", opened: byte, length: 0, last: 0, text: "" };
    else return false;
    return true;
  }

  function decodeSequence(byte: number, kind: "csi" | "ss3", parameters: string): Chord | KeyEvent | undefined {
    if (byte >= 0x20 && byte <= 0x3f) {
      const isLong = parameters.length >= MAX_SEQUENCE_LENGTH;
      state = { kind, parameters: isLong ? parameters : parameters + String.fromCharCode(byte) };
      return undefined;
    }
    state = GROUND;
    if (byte < 0x20) return abortSequence(byte);
    if (byte >= 0x7f) return undefined;
    const final = String.fromCharCode(byte);
    if (kind === "ss3") return chordOfSs3(parameters, final);
    if (final === "~" && parameters === "200") state = { kind: "paste", reader: createPasteReader() };
    // The old mouse report has its position in three bytes after its final one.
    else if (final === "M" && parameters === "") state = { kind: "skip", left: 3 };
    else if (final === "[" && parameters === "") state = { kind: "linux" };
    else if (parameters.startsWith("<") && (final === "M" || final === "m")) {
      const report = final === "M" ? mouseReport(parameters) : undefined;
      if (report !== undefined) onMouse(report);
    }
    // Ready, or a malfunction, which cannot be shown on this screen.
    else if (final === "n" && (parameters === "0" || parameters === "3")) onAnswer();
    else return chordOfCsi(parameters, final);
    return undefined;
  }

  function decodeReply(byte: number, reply: Extract<State, { readonly kind: "reply" }>): Chord | KeyEvent | undefined {
    const { length, last } = reply;
    const isEnd =
      byte === BEL ||
      (last === ESC && byte === 0x5c) ||
      // ST as a C1 control character, in UTF-8.
      (last === 0xc2 && byte === 0x9c) ||
      length >= MAX_REPLY_LENGTH;
    const text = reply.text.length < MAX_SEQUENCE_LENGTH ? reply.text + String.fromCharCode(byte) : reply.text;
    state = isEnd ? GROUND : { ...reply, length: length + 1, last: byte, text };
    if (isEnd) {
      if (reply.opened === OSC) onReply(reply.text);
      return undefined;
    }
    if (last === ESC) {
      state = { kind: "escape" };
      return step(byte);
    }
    return byte < 0x20 && byte !== ESC ? abortSequence(byte) : undefined;
  }

  /** Ends the sequence at a control character, which then counts separately: Ctrl-C must work after any input. */
  function abortSequence(byte: number): Chord | KeyEvent | undefined {
    state = GROUND;
    return byte === CAN || byte === SUB ? undefined : step(byte);
  }

  function taken(): readonly KeyEvent[] {
    const found = events;
    events = [];
    return found;
  }

  return {
    feed(bytes) {
      for (const byte of bytes) push(byte);
      return taken();
    },
    flush() {
      if (state.kind === "escape" || (state.kind === "reply" && state.last === ESC)) {
        // The operator pressed Esc because a reply did not end.
        state = GROUND;
        events.push({ kind: "key", chord: "esc" });
      } else if (state.kind === "reply" && state.length === 0) {
        // A terminal sends its whole reply at once, so a lone introducer was typed by a person who holds Alt.
        events.push({ kind: "key", chord: `alt-${String.fromCharCode(state.opened)}` });
        state = GROUND;
      }
      return taken();
    },
    get isPending() {
      return state.kind !== "ground" || utf8.isPending;
    },
  };
}

const CONTROLS: ReadonlyMap<number, Chord> = new Map([
  [0x00, "ctrl-space"],
  [0x08, "backspace"],
  [0x09, "tab"],
  [0x0a, "enter"],
  [0x0d, "enter"],
  [0x20, "space"],
  [0x7f, "backspace"],
]);

/** Returns the chord of a character; `undefined` for other controls and for characters that cannot be displayed. */
function chordOfCharacter(point: number): Chord | undefined {
  const control = CONTROLS.get(point);
  if (control !== undefined) return control;
  if (point < 0x20) return point >= 1 && point <= 26 ? `ctrl-${String.fromCharCode(0x60 + point)}` : undefined;
  const character = String.fromCodePoint(point);
  return escapeControls(character) === character ? character : undefined;
}

const withAlt = (chord: Chord | undefined, isAlt: boolean): Chord | undefined =>
  isAlt && chord !== undefined ? `alt-${chord}` : chord;
