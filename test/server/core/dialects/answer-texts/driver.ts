/** A stream whose texts are held back and rewritten as by guardrails, event by event. */
import {
  type Dialect,
  openStreamTexts,
  type SseEvent,
  SseSplitter,
} from "../../../../../src/server/core/dialects/index.ts";

interface Holder {
  readonly push: (text: string) => string;
  readonly end: () => string;
}

export const showing = (): Holder => ({ push: (text) => text, end: () => "" });

const WORD = "SECRET";
export const hide = (text: string): string => text.replaceAll(WORD, "[x]");

/** Hides the word, and holds back text that may become one. */
export function hiding(): Holder {
  let held = "";
  return {
    push: (text) => {
      held += text;
      const at = held.lastIndexOf(WORD, held.length - 1);
      const tail = Math.max(0, held.length - WORD.length + 1, at < 0 ? 0 : at + WORD.length);
      const least = Math.min(tail, held.length);
      const shown = hide(held.slice(0, least));
      held = held.slice(least);
      return shown;
    },
    end: () => {
      const shown = hide(held);
      held = "";
      return shown;
    },
  };
}

/** Holds back all of a text until it ends. */
export function holding(): Holder {
  let held = "";
  return {
    push: (text) => {
      held += text;
      return "";
    },
    end: () => {
      const shown = hide(held);
      held = "";
      return shown;
    },
  };
}

export const eventsOf = (stream: string): readonly SseEvent[] => new SseSplitter().push(Buffer.from(stream));

export const streamOf = (events: readonly unknown[]): string =>
  events
    .map((event) => {
      // Raw bytes in the golden files.
      if (typeof event === "string" && /^(?:event|data)?:/.test(event)) return event;
      const type = (event as { type?: string }).type;
      const name = type === undefined ? "" : `event: ${type}\n`;
      return `${name}data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`;
    })
    .join("");

/** Returns the client's output. */
export function drive(
  dialect: Dialect,
  route: string,
  events: readonly SseEvent[],
  open: () => Holder,
): { readonly shown: string; readonly texts: ReadonlyMap<string, string> } {
  const stream = openStreamTexts(dialect, route);
  const holders = new Map<string, Holder>();
  const texts = new Map<string, string>();
  const out: (Buffer | undefined)[] = [];
  const flush = (channel: string): void => {
    out.push(stream.flush(channel, holders.get(channel)?.end() ?? "", true));
    holders.delete(channel);
  };
  for (const event of events) {
    const read = stream.read(event);
    for (const channel of read.closedChannels) flush(channel);
    const shown = read.pieces.map(({ channel, text, isEnd }) => {
      const holder = holders.get(channel) ?? open();
      holders.set(channel, holder);
      texts.set(channel, (texts.get(channel) ?? "") + text);
      const piece = holder.push(text) + (isEnd ? holder.end() : "");
      if (isEnd) holders.delete(channel);
      return piece;
    });
    out.push(stream.rewrite(read, shown));
  }
  for (const channel of stream.end()) flush(channel);
  return { shown: Buffer.concat(out.filter((each) => each !== undefined)).toString(), texts };
}
