/**
 * Connects a worker and its node process: ordered messages and questions over one stream socket. Messages of one millisecond are
 * sent as one frame, because a single message costs the sender as much as a frame of fifty. A question and its answer are sent at
 * the end of the event loop turn.
 */
import type { Socket } from "node:net";
import { ChannelClosed, decodeError, encodeError } from "./channel-errors.ts";
import {
  BrokenFrame,
  createFrameReader,
  encodeFrame,
  MAX_ENTRY_LENGTH,
  MAX_FRAME_BYTES,
  PART_LENGTH,
} from "./channel-frames.ts";

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

interface PendingQuestion {
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
  const pendingQuestions = new Map<number, PendingQuestion>();
  const answering = new Map<number, AbortController>();
  let earlyCount = 0;
  let lastQuestionId = 0;
  let isClosed = false;
  let entries: string[] = [];
  let parts: string[] = [];
  let partsLength = 0;
  let gatheredBytes = 0;
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
    const frame = encodeFrame(entries, gatheredBytes);
    entries = [];
    gatheredBytes = 0;
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
    if (gatheredBytes + bytes >= MAX_FRAME_BYTES) flush();
    entries.push(text);
    gatheredBytes += bytes;
    if (gatheredBytes >= GATHER_BYTES) flush();
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

  const handlePart = (isLast: boolean, text: string): void => {
    partsLength += text.length;
    if (partsLength > MAX_ENTRY_LENGTH) throw new BrokenFrame(`an entry of more than ${MAX_ENTRY_LENGTH} characters`);
    parts.push(text);
    if (!isLast) return;
    const whole = parts.join("");
    parts = [];
    partsLength = 0;
    handleEntry(JSON.parse(whole));
  };

  const keepEarly = (type: string, entry: readonly unknown[]): void => {
    earlyCount += 1;
    if (earlyCount > MAX_EARLY) throw new BrokenFrame(`nobody listens to ${type}`);
    const earlyMessages = early.get(type);
    if (earlyMessages === undefined) early.set(type, [entry]);
    else earlyMessages.push(entry);
  };

  const reply = async (id: number, answerer: Answerer, body: unknown): Promise<void> => {
    const controller = new AbortController();
    answering.set(id, controller);
    try {
      put(["a", id, await answerer(body, controller.signal)], true);
    } catch (error) {
      put(["e", id, encodeError(error)], true);
    } finally {
      answering.delete(id);
    }
  };

  const handleMessage = (entry: readonly unknown[]): void => {
    const [, type, body] = entry;
    const found = listeners.get(String(type));
    if (found === undefined) keepEarly(String(type), entry);
    else for (const listener of found) listener(body);
  };

  const handleQuestion = (entry: readonly unknown[]): void => {
    const [, id, type, body] = entry;
    const answerer = answerers.get(String(type));
    if (answerer === undefined) keepEarly(String(type), entry);
    else void reply(Number(id), answerer, body);
  };

  const takePending = (id: unknown): PendingQuestion | undefined => {
    const found = pendingQuestions.get(Number(id));
    pendingQuestions.delete(Number(id));
    return found;
  };

  const handleEntry = (entry: unknown): void => {
    if (!Array.isArray(entry)) throw new BrokenFrame("an entry is not an array");
    const kind: unknown = entry[0];
    if (kind === "m") handleMessage(entry);
    else if (kind === "q") handleQuestion(entry);
    else if (kind === "a") takePending(entry[1])?.resolve(entry[2]);
    else if (kind === "e") takePending(entry[1])?.reject(decodeError(entry[2]));
    else if (kind === "x") answering.get(Number(entry[1]))?.abort();
    else if (kind === "p") handlePart(entry[1] === true, String(entry[2]));
    else throw new BrokenFrame("an entry of no kind");
  };

  const deliverEarly = (type: string, isWanted: (kind: unknown) => boolean): void => {
    const kept = early.get(type)?.filter(([kind]) => isWanted(kind)) ?? [];
    if (kept.length === 0) return;
    early.delete(type);
    earlyCount -= kept.length;
    for (const entry of kept) handleEntry(entry);
  };

  const read = createFrameReader((all) => {
    for (const entry of all) handleEntry(entry);
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
      for (const { reject } of pendingQuestions.values()) reject(new ChannelClosed());
      pendingQuestions.clear();
      for (const controller of answering.values()) controller.abort(new ChannelClosed());
      resolve();
    });
  });

  return {
    send: (type, body, isUrgent = false) => put(["m", type, body], isUrgent),
    ask(type, body, signal) {
      if (isClosed || socket.destroyed) return Promise.reject(new ChannelClosed());
      if (signal.aborted) return Promise.reject(signal.reason);
      lastQuestionId += 1;
      const id = lastQuestionId;
      return new Promise((resolve, reject) => {
        const cancel = (): void => {
          pendingQuestions.delete(id);
          put(["x", id], true);
          reject(signal.reason);
        };
        signal.addEventListener("abort", cancel, { once: true });
        const stopListening = (): void => signal.removeEventListener("abort", cancel);
        pendingQuestions.set(id, {
          resolve(body) {
            stopListening();
            resolve(body);
          },
          reject(error) {
            stopListening();
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
      deliverEarly(type, (kind) => kind === "m");
    },
    answer(type, answerer) {
      answerers.set(type, answerer);
      deliverEarly(type, (kind) => kind === "q");
    },
    waitingBytes: () => gatheredBytes + socket.writableLength,
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
