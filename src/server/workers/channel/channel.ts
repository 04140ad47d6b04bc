/**
 * Connects a worker and its node process: ordered messages and questions over one stream socket. Messages of one millisecond are
 * sent as one frame, because a single message costs the sender as much as a frame of fifty. A question and its answer are sent at
 * the end of the event loop turn.
 */
import type { Socket } from "node:net";
import { BrokenFrame, frameOf, frameReader, MAX_ENTRY_LENGTH, MAX_FRAME_BYTES, PART_LENGTH } from "./channel-frames.ts";
import { ChannelClosed, errorOf, faultOf } from "./faults.ts";

const GATHER_MS = 1;
const GATHER_BYTES = 64 * 1024;
/** Time that the peer has to read the last messages, in milliseconds. */
const CLOSE_MS = 1_000;
/**
 * Maximum number of messages of all types that wait for a listener. They must wait, because a worker opens its ports one after
 * the other.
 */
const MAX_EARLY = 10_000;

export interface Channel {
  /**
   * Sends a message. Never throws; a closed channel drops it. `undefined` arrives as `null`, as in JSON. `isUrgent`: the message
   * is sent at the end of the turn, before anything else is read.
   */
  send(type: string, body: unknown, isUrgent?: boolean): void;
  /**
   * Asks a question. Rejects with `ChannelClosed`, the signal's reason, or the peer's error; a `GatewayError` keeps its fields,
   * any other error only its message.
   */
  ask(type: string, body: unknown, signal: AbortSignal): Promise<unknown>;
  /** Adds a listener. All listeners of a type are called. Messages that arrived before the first listener wait for it. */
  on(type: string, listener: (body: unknown) => void): void;
  /** Sets the function that answers questions of this type. `signal` is aborted when the answer is no longer awaited. */
  answer(type: string, answerer: (body: unknown, signal: AbortSignal) => Promise<unknown> | unknown): void;
  /** Returns the number of bytes that the peer has not read yet. */
  waitingBytes(): number;
  /** Resolves once everything that the peer wrote has been read. */
  readonly closed: Promise<void>;
  /** Closes the channel after sending queued data, at the latest within one second. */
  close(): Promise<void>;
}

type Answerer = (body: unknown, signal: AbortSignal) => Promise<unknown> | unknown;

interface Asked {
  readonly resolve: (body: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Entry of a frame: a message, a question with its number, its answer, its failure, its cancellation, or a part of an entry whose
 * JSON is longer than a frame.
 */
type Entry =
  | readonly ["m", string, unknown]
  | readonly ["q", number, string, unknown]
  | readonly ["a", number, unknown]
  | readonly ["e", number, unknown]
  | readonly ["x", number]
  | readonly ["p", isLast: boolean, text: string];

/**
 * Opens a channel. `onBroken` is called if the peer or this process sent something that cannot be transmitted; the channel is
 * then closed.
 */
export function openChannel(socket: Socket, onBroken: (error: Error) => void): Channel {
  const listeners = new Map<string, ((body: unknown) => void)[]>();
  const answerers = new Map<string, Answerer>();
  const early = new Map<string, (readonly unknown[])[]>();
  const asked = new Map<number, Asked>();
  const answering = new Map<number, AbortController>();
  let earlyCount = 0;
  let lastAsked = 0;
  let isClosed = false;
  let entries: string[] = [];
  let parts: string[] = [];
  let partsLength = 0;
  let gathered = 0;
  let timer: NodeJS.Timeout | undefined;
  let immediate: NodeJS.Immediate | undefined;

  const breakOff = (error: Error): void => {
    if (isClosed) return;
    onBroken(error);
    socket.destroy();
  };

  const flush = (): void => {
    clearTimeout(timer);
    clearImmediate(immediate);
    timer = undefined;
    immediate = undefined;
    if (entries.length === 0 || isClosed || socket.destroyed || !socket.writable) return;
    const frame = frameOf(entries, gathered);
    entries = [];
    gathered = 0;
    socket.write(frame);
  };

  const put = (entry: Entry, isUrgent: boolean): void => {
    if (isClosed) return;
    const text = JSON.stringify(entry);
    const bytes = Buffer.byteLength(text) + 1;
    if (bytes >= MAX_FRAME_BYTES) {
      putParts(text);
      return;
    }
    if (gathered + bytes >= MAX_FRAME_BYTES) flush();
    entries.push(text);
    gathered += bytes;
    if (gathered >= GATHER_BYTES) flush();
    else if (isUrgent) immediate ??= setImmediate(flush);
    else timer ??= setTimeout(flush, GATHER_MS);
  };

  const putParts = (text: string): void => {
    if (text.length > MAX_ENTRY_LENGTH) {
      breakOff(new BrokenFrame(`an entry of ${text.length} characters`));
      return;
    }
    for (let at = 0; at < text.length; at += PART_LENGTH) {
      put(["p", at + PART_LENGTH >= text.length, text.slice(at, at + PART_LENGTH)], false);
      flush();
    }
  };

  const takePart = (isLast: boolean, text: string): void => {
    partsLength += text.length;
    if (partsLength > MAX_ENTRY_LENGTH) throw new BrokenFrame(`an entry of more than ${MAX_ENTRY_LENGTH} characters`);
    parts.push(text);
    if (!isLast) return;
    const whole = parts.join("");
    parts = [];
    partsLength = 0;
    take(JSON.parse(whole));
  };

  const keepEarly = (type: string, entry: readonly unknown[]): void => {
    earlyCount += 1;
    if (earlyCount > MAX_EARLY) throw new BrokenFrame(`nobody listens to ${type}`);
    const kept = early.get(type);
    if (kept === undefined) early.set(type, [entry]);
    else kept.push(entry);
  };

  const reply = async (id: number, answerer: Answerer, body: unknown): Promise<void> => {
    const controller = new AbortController();
    answering.set(id, controller);
    try {
      put(["a", id, await answerer(body, controller.signal)], true);
    } catch (error) {
      put(["e", id, faultOf(error)], true);
    } finally {
      answering.delete(id);
    }
  };

  const takeMessage = (entry: readonly unknown[]): void => {
    const [, type, body] = entry;
    const found = listeners.get(String(type));
    if (found === undefined) keepEarly(String(type), entry);
    else for (const listener of found) listener(body);
  };

  const takeQuestion = (entry: readonly unknown[]): void => {
    const [, id, type, body] = entry;
    const answerer = answerers.get(String(type));
    if (answerer === undefined) keepEarly(String(type), entry);
    else void reply(Number(id), answerer, body);
  };

  const ended = (id: unknown): Asked | undefined => {
    const found = asked.get(Number(id));
    asked.delete(Number(id));
    return found;
  };

  const take = (entry: unknown): void => {
    if (!Array.isArray(entry)) throw new BrokenFrame("an entry is not an array");
    const kind: unknown = entry[0];
    if (kind === "m") takeMessage(entry);
    else if (kind === "q") takeQuestion(entry);
    else if (kind === "a") ended(entry[1])?.resolve(entry[2]);
    else if (kind === "e") ended(entry[1])?.reject(errorOf(entry[2]));
    else if (kind === "x") answering.get(Number(entry[1]))?.abort();
    else if (kind === "p") takePart(entry[1] === true, String(entry[2]));
    else throw new BrokenFrame("an entry of no kind");
  };

  const takeEarly = (type: string, isWanted: (kind: unknown) => boolean): void => {
    const kept = early.get(type)?.filter(([kind]) => isWanted(kind)) ?? [];
    if (kept.length === 0) return;
    early.delete(type);
    earlyCount -= kept.length;
    for (const entry of kept) take(entry);
  };

  const read = frameReader((all) => {
    for (const entry of all) take(entry);
  });
  socket.on("data", (chunk: Buffer) => {
    try {
      read(chunk);
    } catch (error) {
      breakOff(error instanceof Error ? error : new BrokenFrame(String(error)));
    }
  });
  // `closed` reports the loss of the peer.
  socket.on("error", () => undefined);

  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => {
      isClosed = true;
      clearTimeout(timer);
      clearImmediate(immediate);
      for (const { reject } of asked.values()) reject(new ChannelClosed());
      asked.clear();
      for (const controller of answering.values()) controller.abort(new ChannelClosed());
      resolve();
    });
  });

  return {
    send: (type, body, isUrgent = false) => put(["m", type, body], isUrgent),
    ask(type, body, signal) {
      if (isClosed || socket.destroyed) return Promise.reject(new ChannelClosed());
      if (signal.aborted) return Promise.reject(signal.reason);
      lastAsked += 1;
      const id = lastAsked;
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          asked.delete(id);
          put(["x", id], true);
          reject(signal.reason);
        };
        signal.addEventListener("abort", leave, { once: true });
        const stay = (): void => signal.removeEventListener("abort", leave);
        asked.set(id, {
          resolve(body) {
            stay();
            resolve(body);
          },
          reject(error) {
            stay();
            reject(error);
          },
        });
        put(["q", id, type, body], true);
      });
    },
    on(type, listener) {
      const found = listeners.get(type);
      if (found === undefined) listeners.set(type, [listener]);
      else found.push(listener);
      takeEarly(type, (kind) => kind === "m");
    },
    answer(type, answerer) {
      answerers.set(type, answerer);
      takeEarly(type, (kind) => kind === "q");
    },
    waitingBytes: () => gathered + socket.writableLength,
    closed,
    async close() {
      flush();
      socket.end();
      const limit = setTimeout(() => socket.destroy(), CLOSE_MS);
      await closed;
      clearTimeout(limit);
    },
  };
}
