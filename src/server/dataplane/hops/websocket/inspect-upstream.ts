/**
 * Applies guardrails to the events that the upstream of a session sends. Each response, and each transcription of the caller's
 * speech, is a separate answer whose texts are held back until they are proven safe, as in any stream. Other events are inspected
 * alone. Frames are sent in the order in which their texts are released. Source: design decisions, section 11, WebSocket.
 */
import { GatewayError } from "../../../../base/index.ts";
import { type InspectedStream, inspectStream, UnreadableAnswer } from "../../../answers/index.ts";
import { messageEvent, openSessionTexts } from "../../../core/dialects/index.ts";
import { JudgedAnswer, type MaybePromise, mapMaybePromise } from "../../../core/guardrails/index.ts";
import type { Guard } from "../../../snapshot/index.ts";
import { settleAnswer } from "../../governance/guardrails.ts";
import { EventAnswers } from "./event-answers.ts";
import { type InspectedSession, refusedMessage, withNamedModel } from "./inspect-client.ts";
import { classifyMessage } from "./session-message.ts";
import type { Frame, InspectedMessage, InspectorPorts } from "./tunnel-types.ts";

export interface UpstreamInspection {
  message(message: Frame): InspectedMessage | Promise<InspectedMessage>;
  /** Inspects and releases everything that is held back. */
  end(): InspectedMessage | Promise<InspectedMessage>;
  /** Records the decisions when the session has ended. */
  close(): void;
}

/** Maximum number of open answers; beyond it the oldest is treated as complete. */
const MAX_ANSWERS = 64;
const NOTHING: InspectedMessage = { kind: "passes", frames: [] };

interface Answer {
  readonly judged: JudgedAnswer;
  readonly stream: InspectedStream;
  readonly items: Set<string>;
  heldBytes: number;
  isSettled: boolean;
}

/** Creates the inspection. `guard`: returns the guard in force; an answer keeps the one with which it began. */
export function inspectUpstream(
  session: InspectedSession,
  guard: () => Guard | undefined,
  ports: InspectorPorts,
): UpstreamInspection {
  return new UpstreamInspector(session, guard, ports);
}

class UpstreamInspector implements UpstreamInspection {
  readonly #session: InspectedSession;
  readonly #guard: () => Guard | undefined;
  readonly #ports: InspectorPorts;
  readonly #places = new EventAnswers();
  /** Open answers by name, oldest first. */
  readonly #answers = new Map<string, Answer>();
  /** Names of the answers by item id. */
  readonly #items = new Map<string, string>();
  /** Kind of the message that is being inspected. */
  #isBinary = false;

  constructor(session: InspectedSession, guard: () => Guard | undefined, ports: InspectorPorts) {
    this.#session = session;
    this.#guard = guard;
    this.#ports = ports;
  }

  message(message: Frame): InspectedMessage | Promise<InspectedMessage> {
    const guard = this.#guard();
    const inForce = guard?.readsOutput === true ? guard : undefined;
    if (inForce === undefined && this.#answers.size === 0) return { kind: "passes", frames: [message] };
    return this.#guarded(() => this.#inspect(message, inForce));
  }

  end(): InspectedMessage | Promise<InspectedMessage> {
    return this.#guarded(() => this.#endAll([...this.#answers.keys()], 0));
  }

  close(): void {
    for (const [name, answer] of this.#answers) {
      try {
        this.#settle(answer);
      } catch {
        // There is no peer left to refuse; the trail counts records that it could not write.
      }
      this.#forget(name, answer);
    }
  }

  #guarded(work: () => MaybePromise<void>): InspectedMessage | Promise<InspectedMessage> {
    const failed = (error: unknown): InspectedMessage => refusedMessage(asGuardrailError(error), this.#session);
    try {
      const done = work();
      return done instanceof Promise ? done.then(() => NOTHING, failed) : NOTHING;
    } catch (error) {
      return failed(error);
    }
  }

  #inspect(message: Frame, guard: Guard | undefined): MaybePromise<void> {
    const { kind } = classifyMessage(message);
    if (kind === "unreadable") throw new UnreadableAnswer("it has an encoding that is not supported");
    if (kind === "sound") {
      this.#session.sinks.metrics.uninspected("audio");
      this.#ports.pass(message);
      return undefined;
    }
    const {
      answer: name,
      isEnd,
      item,
    } = this.#places.answerOf(
      message.data,
      (id) => this.#items.get(id),
      (answer) => this.#answers.has(answer),
    );
    const known = name === undefined ? undefined : this.#answers.get(name);
    if (known === undefined && guard === undefined) {
      this.#ports.pass(message);
      return undefined;
    }
    this.#isBinary = message.isBinary;
    if (known !== undefined) return this.#push(name ?? "", known, message, { isEnd, item });
    const answer = this.#openAnswer(guard as Guard, name === undefined);
    if (name === undefined) return this.#push("", answer, message, { isEnd: true, item: undefined });
    const [oldest] = this.#answers.keys();
    const room = this.#answers.size >= MAX_ANSWERS && oldest !== undefined ? this.#endAll([oldest], 0) : undefined;
    this.#answers.set(name, answer);
    return mapMaybePromise(room, () => this.#push(name, answer, message, { isEnd, item }));
  }

  /** Opens an answer. `isAlone`: the answer consists of one event, of which nothing is held back. */
  #openAnswer(guard: Guard, isAlone: boolean): Answer {
    const { endedSignal, sinks } = this.#session;
    const judged = new JudgedAnswer(guard, withNamedModel(this.#session).inspectionContext, endedSignal);
    const stream = inspectStream({
      answer: judged,
      texts: openSessionTexts(),
      metrics: isAlone ? { ...sinks.metrics, observeHeldBytes() {} } : sinks.metrics,
      show: (data) => this.#ports.pass({ data, isBinary: this.#isBinary }),
      woke: () => this.#runInBackground(() => this.#check(answer)),
      failed: (error) =>
        this.#runInBackground(() => {
          throw error;
        }),
    });
    const answer: Answer = { judged, stream, items: new Set(), heldBytes: 0, isSettled: false };
    return answer;
  }

  #push(
    name: string,
    answer: Answer,
    { data }: Frame,
    { isEnd, item }: { readonly isEnd: boolean; readonly item: string | undefined },
  ): MaybePromise<void> {
    if (item !== undefined && name !== "" && !this.#items.has(item)) {
      answer.items.add(item);
      this.#items.set(item, name);
    }
    return mapMaybePromise(answer.stream.push(messageEvent(data)), () => {
      if (isEnd) return this.#finish(name, answer);
      return this.#check(answer);
    });
  }

  #finish(name: string, answer: Answer): MaybePromise<void> {
    return mapMaybePromise(answer.stream.end(), () => {
      this.#forget(name, answer);
      this.#settle(answer);
    });
  }

  #endAll(names: readonly string[], from: number): MaybePromise<void> {
    for (let at = from; at < names.length; at++) {
      const name = names[at] as string;
      const answer = this.#answers.get(name);
      const done = answer && this.#finish(name, answer);
      if (done instanceof Promise) return done.then(() => this.#endAll(names, at + 1));
    }
    return undefined;
  }

  /** Throws the refusal of an answer, if any, and accounts for the bytes held back. */
  #check(answer: Answer): void {
    if (answer.judged.isRefused) this.#settle(answer);
    const { memory } = this.#session;
    const bytes = answer.stream.heldBytes;
    if (bytes > answer.heldBytes) memory.hold(bytes - answer.heldBytes);
    else memory.release(answer.heldBytes - bytes);
    answer.heldBytes = bytes;
  }

  /** Records the decisions once. Throws the refusal of the answer, if any. */
  #settle(answer: Answer): void {
    if (answer.isSettled) return;
    answer.isSettled = true;
    const { effective, sinks } = this.#session;
    const { error } = settleAnswer(answer.judged.judged, withNamedModel(this.#session).request, effective, sinks);
    if (error !== undefined) throw error;
  }

  #forget(name: string, answer: Answer): void {
    answer.stream.close();
    this.#session.memory.release(answer.heldBytes);
    answer.heldBytes = 0;
    for (const item of answer.items) this.#items.delete(item);
    if (this.#answers.get(name) === answer) this.#answers.delete(name);
  }

  /** Runs work that was not triggered by a message, and ends the session if it fails. */
  #runInBackground(work: () => void): void {
    try {
      work();
    } catch (error) {
      const refused = refusedMessage(asGuardrailError(error), this.#session);
      if (refused.kind === "refused") this.#ports.refuse(refused);
    }
  }
}

/** Maps an unreadable answer to `guardrail_error`, because it cannot be shown. */
const asGuardrailError = (error: unknown): unknown =>
  error instanceof UnreadableAnswer ? new GatewayError("guardrail_error", `${error.message}.`) : error;
