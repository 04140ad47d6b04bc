/**
 * Translates a whole answer of the messages dialect for a compat client: to a chat completion, or to its chunks if a stream was
 * requested. Source: dialects reference, 8.5 and 9.1.
 */

import { stringOf, type Values } from "../../json/json-values.ts";
import { normalizeUsage } from "../../usage/usage-normalize.ts";
import {
  readArguments,
  readMessage,
  readRefusal,
  readText,
  type WholeMessage,
} from "../messages-answers/message-answer-parts.ts";
import type { AnswerStamp, AnswerTerms } from "../types.ts";
import { compatUsage } from "../usage-shape.ts";
import { encryptedDetail, readCall, readFinish, readHead, signedDetail } from "./answer-reading.ts";
import { ChunkWriter } from "./chunk-writer.ts";
import { Annotations, citedPages } from "./citations.ts";

interface Call {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

/** Returns a chat completion as JSON text. Throws `AnswerProblem`. */
export function messageToChat(body: string, terms: AnswerTerms, stamp: AnswerStamp): string {
  const answer = readMessage(body);
  const { message } = answer;
  const { id, created, model, service_tier } = readHead(message, terms, stamp);
  const written = chatMessage(answer, terms, stamp);
  const finish_reason = readFinish(message["stop_reason"], written.hasCalls, terms);
  return JSON.stringify({
    id,
    object: "chat.completion",
    created,
    model,
    service_tier,
    choices: [{ index: 0, message: written.message, finish_reason, logprobs: null }],
    usage: usageOfAnswer(message),
  });
}

/** Returns the same answer as the frames of a whole stream. Throws `AnswerProblem`. */
export function messageAsChunks(body: string, terms: AnswerTerms, stamp: AnswerStamp): string {
  const { message, blocks, exact } = readMessage(body);
  const writer = new ChunkWriter(terms, stamp);
  writer.start(message);
  for (const block of blocks) writer.close(writer.open(block, exact));
  const usage = normalizeUsage("messages", message["usage"]);
  writer.finish({ stopReason: message["stop_reason"], refusal: readRefusal(message), usage });
  return writer.takeFrames();
}

function chatMessage({ message, blocks, exact }: WholeMessage, terms: AnswerTerms, stamp: AnswerStamp) {
  let content: string | undefined;
  let reasoning = "";
  const details: object[] = [];
  const annotations = new Annotations();
  const calls: Call[] = [];
  let reasonings = 0;
  for (const block of blocks) {
    switch (block["type"]) {
      case "text": {
        const text = readText(block, "text");
        const citing = annotations.open();
        for (const page of citedPages(block)) citing.pages.push(page);
        annotations.countText(text);
        annotations.close(citing);
        content = (content ?? "") + text;
        break;
      }
      case "thinking": {
        const text = stringOf(block["thinking"]) ?? "";
        reasoning += text;
        const detail = signedDetail(text, stringOf(block["signature"]), reasonings++);
        if (detail !== undefined) details.push(detail);
        break;
      }
      case "redacted_thinking":
        details.push(encryptedDetail(block, reasonings++));
        break;
      case "tool_use": {
        const { id, name } = readCall(block, calls.length, terms, stamp);
        calls.push({ id, type: "function", function: { name, arguments: readArguments(block, exact) } });
        break;
      }
    }
  }
  const hasCalls = calls.length > 0;
  const refusal = readRefusal(message) ?? null;
  const toolCalls = terms.callsFunctions ? { function_call: calls[0]?.function } : { tool_calls: calls };
  return {
    hasCalls,
    message: {
      role: "assistant",
      // An answer without text has an empty string; null means that calls or a refusal replace the text.
      content: content ?? (hasCalls || refusal !== null ? null : ""),
      refusal,
      ...(annotations.all.length > 0 && { annotations: annotations.all }),
      ...(reasoning !== "" && { reasoning_content: reasoning }),
      ...(details.length > 0 && { reasoning_details: details }),
      ...(hasCalls && toolCalls),
    },
  };
}

function usageOfAnswer(message: Values): object | undefined {
  const usage = normalizeUsage("messages", message["usage"]);
  return usage && compatUsage(usage);
}
