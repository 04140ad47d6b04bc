/** Folds the events of an unrequested stream into a whole message. Source: dialects reference, 5.3. */
import { listOf, numberOf, objectOf, stringOf, tryParseJson, type Values } from "../../json/json-values.ts";
import { ArgumentsScan } from "../chat-answers/arguments-scan.ts";
import { eventsOf } from "../chat-answers/normalize-chat-answer.ts";
import { AnswerProblem, StreamEndedEarly } from "../types.ts";

/** Members of a delta that are appended to the same member of its block. */
const TEXTS = ["text", "thinking", "signature"] as const;

/** Folds the events. Throws `AnswerProblem`, or `StreamEndedEarly` if the stream ended before its answer did. */
export function foldEvents(body: string): Values {
  let message: Values | undefined;
  let ending: Values = {};
  let usage: Values = {};
  let hasEnded = false;
  const blocks = new Map<number, Record<string, unknown>>();
  const inputs = new Map<number, { readonly scan: ArgumentsScan; text: string }>();
  for (const text of eventsOf(body).data) {
    const event = objectOf(tryParseJson(text));
    if (event === undefined) throw new AnswerProblem("an event is not a JSON object");
    const index = numberOf(event["index"]) ?? 0;
    switch (event["type"]) {
      // Some providers send the whole answer as the only event.
      case "message":
        message ??= event;
        usage = { ...usage, ...objectOf(event["usage"]) };
        hasEnded = true;
        break;
      case "message_start":
        message ??= objectOf(event["message"]);
        usage = { ...usage, ...objectOf(objectOf(event["message"])?.["usage"]) };
        break;
      case "content_block_start":
        blocks.set(index, { ...objectOf(event["content_block"]) });
        break;
      case "content_block_delta":
        addDelta(blocks.get(index), objectOf(event["delta"]) ?? {}, (json) => {
          const input = inputs.get(index) ?? { scan: new ArgumentsScan(), text: "" };
          input.text += input.scan.newText(json);
          inputs.set(index, input);
        });
        break;
      case "message_delta":
        ending = { ...ending, ...objectOf(event["delta"]) };
        usage = { ...usage, ...withoutNulls(objectOf(event["usage"])) };
        break;
      case "message_stop":
        hasEnded = true;
        break;
      case "error":
        throw new AnswerProblem("the provider's answer ended with an error");
    }
  }
  if (message === undefined) throw new StreamEndedEarly("its answer began");
  if (!hasEnded) throw new StreamEndedEarly();
  const folded = [...blocks].map(([index, block]) => {
    const input = inputs.get(index)?.text;
    return input === undefined || input === "" ? block : { ...block, input };
  });
  return { ...message, ...ending, content: [...listOf(message["content"]), ...folded], usage };
}

function addDelta(block: Record<string, unknown> | undefined, delta: Values, fragment: (json: string) => void): void {
  if (block === undefined) throw new AnswerProblem("a delta belongs to no content block");
  const json = delta["partial_json"];
  if (json !== undefined && json !== null) fragment(typeof json === "string" ? json : JSON.stringify(json));
  for (const name of TEXTS) {
    const text = stringOf(delta[name]);
    if (text !== undefined) block[name] = (stringOf(block[name]) ?? "") + text;
  }
  const { citation } = delta;
  if (citation === undefined) return;
  const citations = block["citations"];
  if (Array.isArray(citations)) citations.push(citation);
  else block["citations"] = [citation];
}

/** Returns the counts that are not null, so that a later event keeps the earlier values of the others. */
const withoutNulls = (usage: Values | undefined): Values =>
  Object.fromEntries(Object.entries(usage ?? {}).filter(([, value]) => value !== null));
