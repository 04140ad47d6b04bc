/**
 * Messages of one side on their way past whoever inspects them: one after the other, in the order in which they came,
 * also where an answer takes its time. What waits is counted, and its sender is not read meanwhile.
 */
import type { Frame, Passing, RefusedMessage, TunnelAccount } from "./types.ts";

export interface PassagePorts {
  readonly inspect: (message: Frame) => Passing | Promise<Passing>;
  /** What was held. */
  readonly end: () => Passing | Promise<Passing>;
  /** False: what comes from now on is of use to nobody. */
  readonly isOpen: () => boolean;
  /** Whatever became of the message, before anything goes on in its place. */
  readonly observe: (message: Frame) => void;
  readonly pass: (frame: Frame) => void;
  readonly refuse: (refused: RefusedMessage) => void;
  /** The inspector threw. */
  readonly fail: (error: unknown) => void;
  /** Whether the sender may be read. */
  readonly wait: (isWaiting: boolean) => void;
  /** False: there is no room. */
  readonly hold: (bytes: number) => boolean;
  readonly account: TunnelAccount | undefined;
}

export interface Passage {
  take(message: Frame): void;
  /** `done` is called behind the last message. */
  end(done: () => void): void;
}

/** What a waiting message costs beside its bytes. */
const MESSAGE_BYTES = 256;

type Step = Frame | { readonly done: () => void };

export function createPassage(ports: PassagePorts): Passage {
  const waiting: Step[] = [];
  let isBusy = false;

  const settle = (step: Step, passing: Passing): void => {
    if (!("done" in step)) ports.observe(step);
    if (ports.isOpen()) {
      if (passing.kind === "refused") ports.refuse(passing);
      else for (const frame of passing.frames) ports.pass(frame);
    }
    if ("done" in step) step.done();
  };
  const fail = (step: Step, error: unknown): void => {
    if (!("done" in step)) ports.observe(step);
    if (ports.isOpen()) ports.fail(error);
    if ("done" in step) step.done();
  };
  const started = (step: Step): Passing | Promise<Passing> => {
    if (!ports.isOpen()) return NOTHING;
    return "done" in step ? ports.end() : ports.inspect(step);
  };
  /** True: it is under way. */
  const begin = (step: Step): boolean => {
    let passing: Passing | Promise<Passing>;
    try {
      passing = started(step);
    } catch (error) {
      fail(step, error);
      return false;
    }
    if (!(passing instanceof Promise)) {
      settle(step, passing);
      return false;
    }
    isBusy = true;
    ports.wait(true);
    void passing
      .then(
        (made) => settle(step, made),
        (error: unknown) => fail(step, error),
      )
      .then(goOn);
    return true;
  };
  const goOn = (): void => {
    isBusy = false;
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      if (!("done" in step)) ports.account?.release(MESSAGE_BYTES + step.data.length);
      if (begin(step)) return;
    }
    ports.wait(false);
  };
  const add = (step: Step): void => {
    if (!isBusy) begin(step);
    else if ("done" in step || ports.hold(MESSAGE_BYTES + step.data.length)) waiting.push(step);
  };
  return { take: add, end: (done) => add({ done }) };
}

const NOTHING: Passing = { kind: "passes", frames: [] };
