/** Requests with many elements of one kind are read and translated in time and space in proportion to their length. */
import assert from "node:assert/strict";
import test from "node:test";
import {
  type Form,
  findRoute,
  losses,
  RequestProblem,
  readJson,
  readTexts,
  scanObject,
  type TranslationDirection,
  tokenBounds,
  translateRequest,
  usesOf,
} from "../../../../../src/server/core/dialects/index.ts";
import { CHANNEL } from "./channel.ts";
import { assertIsLinear } from "./measure.ts";
import { CHAT_REQUESTS, MESSAGES_REQUESTS, RESPONSES_REQUESTS } from "./request-kinds.ts";

/** Number of elements in the smaller request of two. */
const COUNT = 100;

interface Client {
  readonly form: Form;
  readonly path: string;
  readonly requests: Readonly<Record<string, (count: number) => object>>;
  readonly others: readonly Form[];
}

const CLIENTS: readonly Client[] = [
  { form: "chat", path: "/v1/chat/completions", requests: CHAT_REQUESTS, others: ["messages"] },
  { form: "messages", path: "/v1/messages", requests: MESSAGES_REQUESTS, others: ["chat"] },
  { form: "responses", path: "/v1/responses", requests: RESPONSES_REQUESTS, others: ["chat", "messages"] },
];

/** Translates a request, which may be refused. Returns the length of its body. */
function translate(direction: TranslationDirection, text: string): number {
  try {
    return translateRequest(direction, readJson(text), { sent: "m1", requested: "m" }, CHANNEL).body.length;
  } catch (error) {
    if (!(error instanceof RequestProblem)) throw error;
    return 0;
  }
}

for (const { form, path, requests, others } of CLIENTS) {
  const route = findRoute("POST", path) ?? assert.fail(path);
  for (const [kind, bodyOf] of Object.entries(requests)) {
    const textOf = (count: number): string => JSON.stringify(bodyOf(count));
    for (const other of others) {
      const direction = `${form}>${other}` as TranslationDirection;
      test(`a ${form} request with many ${kind} is translated to ${other} in linear time`, () => {
        assertIsLinear(COUNT, textOf, (text) => translate(direction, text));
      });
      test(`the losses of a ${form} request with many ${kind} for ${other} are found in linear time`, () => {
        assertIsLinear(
          COUNT,
          textOf,
          (text) => losses(usesOf(form, JSON.parse(text), other), direction, { caps: undefined }).length,
        );
      });
    }
    test(`a ${form} request with many ${kind} is read in linear time`, () => {
      assertIsLinear(COUNT, textOf, (text) => {
        const plain = Buffer.from(text);
        assert.equal(scanObject(plain, ["model"]).kind, "object");
        tokenBounds(plain, true, route);
        readTexts(route, form === "messages" ? "messages" : "compat", {
          plain,
          contentType: "application/json",
          isJson: true,
        });
        return 0;
      });
    });
  }
}
