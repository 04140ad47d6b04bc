/**
 * Collects the capabilities that a request uses while it is read. The list tracks the reader's position, so that a place costs
 * nothing until it is needed. A place consists of known names and indexes. It quotes at most the name of an unknown field from
 * the request, truncated and cleaned.
 */
import { objectOf, tryParseJson, type Values } from "../../json/json-values.ts";
import type { Capability } from "../capabilities.ts";
import { mayHoldContent } from "../item-members.ts";
import { MAX_PLACE_LENGTH, type Uses } from "../losses.ts";

const NOWHERE: ReadonlyMap<Capability, string> = new Map();

/** Maximum number of marks that any provider uses in a request; the excess is dropped in translation. */
const MAX_CACHE_MARKS = 4;

const ELLIPSIS = "...";

/** Returns a field name from a request without characters that are unsafe in a path or a header. */
const shownName = (name: string): string => name.slice(0, 2 * MAX_PLACE_LENGTH).replace(/[^A-Za-z0-9_.-]/gu, "") || "_";

const truncate = (path: string): string =>
  path.length <= MAX_PLACE_LENGTH ? path : path.slice(0, MAX_PLACE_LENGTH - ELLIPSIS.length) + ELLIPSIS;

interface CallArguments {
  readonly text: string;
  readonly list: string;
  /** Indexes of the message and the call. `call` is -1 for the one call of the older form, and for an item that is a call. */
  readonly message: number;
  readonly call: number;
}

/**
 * Places where a request uses a capability (`used`), and where it uses it in a form that the other dialect cannot express
 * (`lost`).
 */
export interface CapabilityPlaces {
  readonly used: ReadonlySet<string>;
  readonly lost: ReadonlySet<string>;
}

export class UseList implements Uses {
  readonly capabilities = new Set<Capability>();
  readonly #target: Capability | undefined;
  /** Places of the target capability; `undefined` if there is none, which is the usual case. */
  readonly #found: { readonly used: Set<string>; readonly lost: Set<string> } | undefined;
  unsignedThinking: string | undefined;
  #places: Map<Capability, string> | undefined;
  #arguments: CallArguments[] | undefined;
  #cacheMarks = 0;

  #field = "";
  #list = "";
  #index = -1;
  #parts = "";
  #part = -1;
  #inner = -1;

  /** Creates a list. `target` is the capability whose places are all kept, for a refusal that names them. */
  constructor(target?: Capability) {
    this.#target = target;
    this.#found = target && { used: new Set(), lost: new Set() };
  }

  get found(): CapabilityPlaces | undefined {
    return this.#found;
  }

  get untranslatable(): ReadonlyMap<Capability, string> {
    this.#checkArguments();
    return this.#places ?? NOWHERE;
  }

  /** Adds a use. `field` is a field name or a path of names, relative to the reader's position. */
  add(capability: Capability, field = ""): void {
    this.capabilities.add(capability);
    if (capability === this.#target) this.#found?.used.add(this.place(field));
  }

  /** Records that the other dialect cannot express `field` in the form it has here. */
  lose(capability: Capability, field = ""): void {
    if (capability === this.#target) this.#found?.lost.add(this.place(field));
    this.#places ??= new Map();
    if (!this.#places.has(capability)) this.#places.set(capability, this.place(field));
  }

  /** Adds a use in a form that no translation keeps. */
  addLost(capability: Capability, field = ""): void {
    this.add(capability, field);
    this.lose(capability, field);
  }

  /**
   * Records members with names outside `known`, which have no translation. `under` is the path from the reader's position to
   * the object.
   */
  checkMembers(object: Values, known: ReadonlySet<string>, under = ""): void {
    for (const name in object) {
      if (known.has(name)) continue;
      const value = object[name];
      if (value !== null && value !== undefined) this.loseUnknown(name, under);
    }
  }

  loseUnknown(name: string, under = ""): void {
    if (this.#places?.has("unknown_field") && this.#target !== "unknown_field") return;
    const shown = shownName(name);
    this.lose("unknown_field", under === "" ? shown : `${under}.${shown}`);
  }

  /**
   * Records unknown members of an item of a response's input. Clients annotate items for their own use (Codex:
   * `internal_chat_message_metadata_passthrough`), and the model does not see that. So only a member that may hold content
   * counts as lost.
   */
  checkItemMembers(item: Values, known: ReadonlySet<string>): void {
    for (const name in item) {
      if (known.has(name)) continue;
      const value = item[name];
      if (value === null || value === undefined) continue;
      if (mayHoldContent(name, value)) this.loseUnknown(name);
      else this.lose("hint", shownName(name));
    }
  }

  /** Adds a cache mark. `lostAt` is the field to report as lost; `undefined` if the other dialect has marks in this place too. */
  addCacheMark(mark: unknown, defaultTtl: string, lostAt?: string): void {
    const members = objectOf(mark);
    if (members === undefined) return;
    this.add("prompt_caching");
    const { ttl } = members;
    if (typeof ttl === "string" && ttl !== defaultTtl) this.add("cache_ttl");
    this.#cacheMarks += 1;
    if (lostAt !== undefined) this.lose("prompt_caching", lostAt);
    else if (this.#cacheMarks > MAX_CACHE_MARKS) this.lose("prompt_caching");
  }

  /**
   * Adds the arguments of a tool call. Arguments that are not a JSON object are kept as text. They are parsed only when a
   * translation needs it.
   */
  addArguments(text: string): void {
    if (text === "" || text === "{}") return;
    this.#arguments ??= [];
    this.#arguments.push({ text, list: this.#list, message: this.#index, call: this.#part });
  }

  /**
   * Moves the reader's position to a field of the request. An empty name means the request itself, or several fields together.
   */
  enterField(name: string): void {
    this.#field = name;
  }

  enter(list: "messages" | "system" | "tools" | "functions" | "input", index: number): void {
    this.#list = list;
    this.#index = index;
    this.#part = -1;
    this.#inner = -1;
  }

  enterPart(parts: "content" | "tool_calls" | "output", index: number): void {
    this.#parts = parts;
    this.#part = index;
    this.#inner = -1;
  }

  /** Moves the reader's position to an entry of a part's own `content`. */
  enterInner(index: number): void {
    this.#inner = index;
  }

  leavePart(): void {
    this.#part = -1;
    this.#inner = -1;
  }

  leave(): void {
    this.#list = "";
    this.#index = -1;
    this.leavePart();
  }

  place(field: string): string {
    if (this.#list === "") return truncate(field || this.#field);
    let path = this.#list;
    if (this.#index >= 0) path += `[${this.#index}]`;
    if (this.#part >= 0) path += `.${this.#parts}[${this.#part}]`;
    if (this.#inner >= 0) path += `.content[${this.#inner}]`;
    if (field !== "") path += `.${field}`;
    return truncate(path);
  }

  #checkArguments(): void {
    const calls = this.#arguments;
    if (calls === undefined) return;
    this.#arguments = undefined;
    if (this.#places?.has("hint")) return;
    const raw = calls.find(({ text }) => objectOf(tryParseJson(text)) === undefined);
    if (raw === undefined) return;
    this.#places ??= new Map();
    if (raw.list === "input") {
      this.#places.set("hint", `input[${raw.message}].arguments`);
      return;
    }
    const call = raw.call < 0 ? "function_call" : `tool_calls[${raw.call}].function`;
    this.#places.set("hint", `messages[${raw.message}].${call}.arguments`);
  }
}
