/** An exchange as a peer sees it: messages, and their results as text. */
import { openExchange, type Step, type Verdict } from "../../../../src/server/inspector/exchange/index.ts";
import type {
  Arrival,
  ExchangeOptions,
  PeerMode,
  ResponseNews,
} from "../../../../src/server/inspector/exchange/types.ts";

export const MAX_BODY_BYTES = 1_000_000;

interface TestExchange {
  /** `news` is the result of a response's inspection when it gets the data. */
  readonly arrive: (arrival: Arrival, news?: readonly ResponseNews[]) => readonly string[];
  readonly report: (news: ResponseNews) => readonly string[];
  readonly decide: (verdict: Verdict) => readonly string[];
  readonly leave: () => readonly string[];
  readonly isOver: () => boolean;
  /** Bodies passed to inspection. */
  readonly inspected: readonly Buffer[];
}

export function exchange(terms: Partial<ExchangeOptions> = {}): TestExchange {
  const inspected: Buffer[] = [];
  const opened = openExchange({
    mode: "streamed",
    maxBodyBytes: MAX_BODY_BYTES,
    reserve: () => true,
    responses: undefined,
    ...terms,
  });
  const stepTexts = (steps: readonly Step[]): readonly string[] =>
    steps.map((step) => {
      if (step.do === "inspect") inspected.push(Buffer.from(step.request.body));
      return inWords(step);
    });
  return {
    arrive(arrival, news = []) {
      const steps = [...opened.receive(arrival)];
      if (steps.some((step) => step.do === "feed")) {
        for (const one of news) steps.push(...opened.applyNews(one));
        steps.push(...opened.afterFeed());
      }
      return stepTexts(steps);
    },
    report: (news) => stepTexts(opened.applyNews(news)),
    decide: (verdict) => stepTexts(opened.applyVerdict(verdict)),
    leave: () => stepTexts(opened.endOfInput()),
    isOver: opened.isClosed,
    inspected,
  };
}

const HEADERS = [":method", "POST", ":path", "/v1/chat/completions"];

export const headers = (isEnd = false, request?: PeerMode, response: PeerMode = "none"): Arrival => ({
  kind: "headers",
  side: "request",
  headers: HEADERS,
  isEnd,
  modes: request && { request, response },
});

export const body = (text: string | Buffer, isEnd = false): Arrival => ({
  kind: "body",
  side: "request",
  bytes: Buffer.from(text),
  isEnd,
});

export const trailers: Arrival = { kind: "trailers", side: "request" };

export const response = {
  headers: (isEnd = false): Arrival => ({
    kind: "headers",
    side: "response",
    headers: [":status", "200"],
    isEnd,
    modes: undefined,
  }),
  body: (text: string, isEnd = false): Arrival => ({ kind: "body", side: "response", bytes: Buffer.from(text), isEnd }),
  trailers: { kind: "trailers", side: "response" } as Arrival,
};

const setIn = (sets: ReadonlyMap<string, string> | undefined): string =>
  [...(sets ?? [])].map(([name, value]) => ` ${name}=${value}`).join("");

const droppedIn = (drops: readonly string[] = []): string => (drops.length === 0 ? "" : ` drops ${drops.join()}`);

const shown = (bytes: Buffer): string => (bytes.length > 40 ? `${bytes.length} bytes` : JSON.stringify(String(bytes)));

function inWords(step: Step): string {
  switch (step.do) {
    case "inspect":
      return `inspect ${shown(step.request.body)}`;
    case "refuse":
      return `refuse ${step.error.status} ${step.error.code}`;
    case "fail":
      return `fail ${step.fault}`;
    case "count":
      return `count ${step.what}`;
    case "feed":
      return `feed ${shown(step.bytes)}${step.isEnd ? " end" : ""}`;
    default: {
      const { answer } = step;
      const side = answer.side === "request" ? "" : "response ";
      switch (answer.kind) {
        case "headers":
          return `${side}headers${answer.asksBody ? " ask" : ""}${answer.asksResponse === true ? " response" : ""}${droppedIn(answer.drops)}${answer.dropsLength ? " -length" : ""}${setIn(answer.sets)}`;
        case "chunk":
          return `${side}chunk ${typeof answer.replacement === "string" ? answer.replacement : shown(answer.replacement)}${setIn(answer.sets)}`;
        case "piece":
          return `${side}piece ${shown(answer.bytes)}${answer.isEnd ? " end" : ""}`;
        default:
          return `${side}trailers`;
      }
    }
  }
}
