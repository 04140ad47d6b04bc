/**
 * Queues the messages of one side on their way through an inspector. They are processed one after the other in order of arrival,
 * even if an inspection takes long. Waiting messages are accounted for, and the sender is not read meanwhile.
 */
import type { Frame, InspectedMessage, RefusedMessage, TunnelAccount } from "./tunnel-types.ts";

interface MessageQueuePorts {
  readonly inspect: (message: Frame) => InspectedMessage | Promise<InspectedMessage>;
  /** Returns the messages that the inspector still holds back. */
  readonly end: () => InspectedMessage | Promise<InspectedMessage>;
  /** Returns false if the receiver no longer accepts messages. */
  readonly isOpen: () => boolean;
  /** Called with each message, whatever its outcome, before the inspected message is passed on. */
  readonly observe: (message: Frame) => void;
  readonly pass: (frame: Frame) => void;
  readonly refuse: (refused: RefusedMessage) => void;
  /** Called if the inspector failed. */
  readonly fail: (error: unknown) => void;
  /** Called with true when the sender must not be read, and with false when reading continues. */
  readonly setWaiting: (isWaiting: boolean) => void;
  /** Accounts for a message. Returns false if the memory budget is exhausted. */
  readonly hold: (bytes: number) => boolean;
  readonly account: TunnelAccount | undefined;
}

export interface MessageQueue {
  push(message: Frame): void;
  /** Ends the queue. `done` is called after the last message. */
  end(done: () => void): void;
}

/** Memory that a waiting message takes beyond its bytes. */
const MESSAGE_BYTES = 256;

type Step = Frame | { readonly done: () => void };

export function createMessageQueue(ports: MessageQueuePorts): MessageQueue {
  const waiting: Step[] = [];
  let isBusy = false;

  const settle = (step: Step, passing: InspectedMessage): void => {
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
  const startStep = (step: Step): InspectedMessage | Promise<InspectedMessage> => {
    if (!ports.isOpen()) return NOTHING;
    return "done" in step ? ports.end() : ports.inspect(step);
  };
  /** Runs a step. Returns true if it continues asynchronously. */
  const runStep = (step: Step): boolean => {
    let passing: InspectedMessage | Promise<InspectedMessage>;
    try {
      passing = startStep(step);
    } catch (error) {
      fail(step, error);
      return false;
    }
    if (!(passing instanceof Promise)) {
      settle(step, passing);
      return false;
    }
    isBusy = true;
    ports.setWaiting(true);
    void passing
      .then(
        (made) => settle(step, made),
        (error: unknown) => fail(step, error),
      )
      .then(runWaiting);
    return true;
  };
  const runWaiting = (): void => {
    isBusy = false;
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      if (!("done" in step)) ports.account?.release(MESSAGE_BYTES + step.data.length);
      if (runStep(step)) return;
    }
    ports.setWaiting(false);
  };
  const add = (step: Step): void => {
    if (!isBusy) runStep(step);
    else if ("done" in step || ports.hold(MESSAGE_BYTES + step.data.length)) waiting.push(step);
  };
  return { push: add, end: (done) => add({ done }) };
}

const NOTHING: InspectedMessage = { kind: "passes", frames: [] };
