/**
 * Both sides of an exchange in any order, with any inspection result at any time: no response byte passes without being
 * released, each chunk is answered at most once, and nothing is sent after the last message. `LONG=1` runs fifty times
 * as many.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "../../../../src/base/index.ts";
import type { ResponseNews, Step } from "../../../../src/server/inspector/exchange/index.ts";
import { openExchange } from "../../../../src/server/inspector/exchange/index.ts";
import { randomRuns } from "../../../support/random-length.ts";
import { body, headers, MAX_BODY_BYTES, response, trailers } from "./support.ts";

const SEED = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = process.env["LONG"] === "1" ? 1_000_000 : randomRuns(20_000);

function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const HEAD = { drops: [], sets: new Map<string, string>() };

test(`response messages in any order are answered correctly (SEED=${SEED})`, () => {
  const below = random(SEED);
  const one = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item;
  const reached = new Set<string>();
  for (let run = 0; run < RUNS; run++) {
    const mode = one(["streamed", "duplex"] as const);
    const request = one(["streamed", "duplex"] as const);
    const peer = one([undefined, mode, ...(mode === "streamed" ? (["buffered", "none"] as const) : [])] as const);
    const exchange = openExchange({
      mode: request,
      maxBodyBytes: MAX_BODY_BYTES,
      reserve: () => true,
      responses: { mode, requestHeaders: () => undefined, begin: () => HEAD },
    });
    let fed = "";
    let allowed = "";
    let left = "";
    let [chunks, answers] = [0, 0];
    let isOver = false;
    let isEnded = false;
    let isEndFed = false;
    const log: string[] = [];
    const news = (): ResponseNews => {
      const kind = one(["shown", "shown", isEndFed ? "ended" : "shown", "refused"] as const);
      if (kind === "refused") {
        allowed += "LATE";
        isEnded = true;
        return { kind, error: new GatewayError("guardrail_denied", "No."), late: Buffer.from("LATE"), sets: new Map() };
      }
      const bytes = String.fromCharCode(97 + below(26)).repeat(below(3));
      allowed += bytes;
      isEnded ||= kind === "ended";
      return { kind, bytes: Buffer.from(bytes), head: HEAD };
    };
    const took = (steps: readonly Step[]): boolean => {
      const text = `seed ${SEED} run ${run} ${request} ${mode} ${peer}\n${log.join("\n")}\n${JSON.stringify(steps)}`;
      assert.ok(!isOver || steps.length === 0, `said after the last word: ${text}`);
      let isFed = false;
      for (const step of steps) {
        reached.add(step.do === "answer" ? `${step.answer.side} ${step.answer.kind}` : step.do);
        if (step.do === "feed") {
          fed += String(step.bytes);
          isFed = true;
          isEndFed ||= step.isEnd;
        }
        if (step.do === "refuse" || step.do === "fail") isOver = true;
        if (step.do !== "answer" || step.answer.side !== "response") continue;
        const { answer } = step;
        if (answer.kind === "chunk") {
          answers += 1;
          assert.equal(mode, "streamed", text);
          if (answer.replacement === "itself") left = allowed;
          else if (answer.replacement !== "nothing") left += String(answer.replacement);
        }
        if (answer.kind === "piece") {
          assert.equal(mode, "duplex", text);
          left += String(answer.bytes);
        }
        assert.ok(allowed.startsWith(left), `${left} of ${allowed} went on: ${text}`);
        assert.ok(answers <= chunks, `more answers than chunks: ${text}`);
      }
      return isFed;
    };
    took(exchange.receive(headers(below(2) === 0, peer && request, peer)));
    let isJudged = false;
    for (let step = 0; step < 14; step++) {
      const what = below(16);
      if (what === 0) took(exchange.endOfInput());
      else if (what < 3) took(exchange.receive(one([body("q", below(2) === 0), trailers])));
      else if (what < 5 && !isJudged) {
        isJudged = true;
        took(exchange.applyVerdict(one([{ kind: "allow" }, { kind: "rewrite", body: Buffer.from("w") }] as const)));
      } else if (what < 8 && fed !== "" && !isEnded) took(exchange.applyNews(news()));
      else {
        const arrival = one([
          response.headers(below(6) === 0),
          response.body("r".repeat(below(3)), below(4) === 0),
          response.body("r".repeat(below(3)), false),
          ...(below(3) === 0 ? [response.trailers] : []),
        ]);
        if (arrival.kind === "body") chunks += 1;
        log.push(`${arrival.kind} ${JSON.stringify(arrival)}`);
        if (took(exchange.receive(arrival))) {
          if (below(2) === 0 && !isEnded) took(exchange.applyNews(news()));
          took(exchange.afterFeed());
        }
      }
      assert.ok(!isOver || exchange.isClosed(), `seed ${SEED} run ${run}`);
    }
  }
  assert.ok(reached.size > 9, [...reached].join(", "));
});
