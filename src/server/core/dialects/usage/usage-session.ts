/**
 * Reads usage from the messages of a WebSocket session: realtime, and responses over WebSocket. Source: dialects reference,
 * 4.1.
 *
 * Each response counts once, by its id, and so does each transcription of the caller's audio, which is billed separately. A
 * response with an impossible usage counts at least its deltas.
 */
import { scanObject } from "../json/json-scan.ts";
import { NO_USAGE, type Usage } from "./usage.ts";
import { mayHaveUsageIn, nestedUsage, stringValue, usageValue } from "./usage-member.ts";
import { isDoubtful, normalizeUsage } from "./usage-normalize.ts";
import { RESPONSE_ENDS } from "./usage-stream.ts";

interface SessionUsage {
  /**
   * Reads one message of the upstream. Returns the usage of the response or transcription that ends with it, and `undefined`
   * for every other message. Binary messages are audio.
   */
  read(message: Buffer, isBinary: boolean): SessionAnswer | undefined;
  /**
   * Returns the minimum usage of the response in progress, one token for each of its deltas, or `undefined` if there is none.
   * Used for a session that ends within a response.
   */
  minimumUsage(): Usage | undefined;
}

export interface SessionAnswer {
  readonly usage: Usage;
  /** Whether the answer reported an impossible count, or no usage although it had output. */
  readonly isDoubtful: boolean;
}

const DELTA = Buffer.from('.delta"');

/** Maximum number of remembered ids. A response takes seconds, and few run at a time: a repetition comes soon or never. */
const MAX_IDS = 256;

const TRANSCRIBED = "conversation.item.input_audio_transcription.completed";

interface EndedAnswer {
  /** Id of the response or item. Without an id its usage always counts. */
  readonly id: string | undefined;
  readonly usage: unknown;
}

export function createSessionUsage(): SessionUsage {
  const seen = new Set<string>();
  let deltas = 0;
  return {
    minimumUsage: () => (deltas === 0 ? undefined : usageOfDeltas(deltas)),
    read(message, isBinary) {
      if (isBinary) return undefined;
      if (!mayHaveUsageIn(message)) {
        if (message.includes(DELTA)) deltas++;
        return undefined;
      }
      const ended = readEnd(message);
      if (ended === undefined) return undefined;
      const answer = answerOf(ended.usage, deltas);
      deltas = 0;
      if (answer === undefined || ended.id === undefined) return answer;
      if (seen.has(ended.id)) return undefined;
      const [oldest] = seen;
      if (seen.size >= MAX_IDS && oldest !== undefined) seen.delete(oldest);
      seen.add(ended.id);
      return answer;
    },
  };
}

const usageOfDeltas = (deltas: number): Usage => ({ ...NO_USAGE, outputTokens: deltas, totalTokens: deltas });

function answerOf(value: unknown, deltas: number): SessionAnswer | undefined {
  const usage = normalizeUsage("compat", value);
  const isOdd = isDoubtful("compat", value) || (usage?.totalTokens === 0 && deltas > 0);
  if (usage === undefined && !isOdd) return undefined;
  const isLess = isOdd && (usage?.totalTokens ?? 0) < deltas;
  return { usage: isLess || usage === undefined ? usageOfDeltas(deltas) : usage, isDoubtful: isOdd };
}

function readEnd(message: Buffer): EndedAnswer | undefined {
  const scan = scanObject(message, ["type", "response", "usage", "item_id", "content_index"]);
  if (scan.kind === "problem") return undefined;
  const [typeMember, response, usage, item, part] = scan.members;
  const type = stringValue(message, typeMember) ?? "";
  if (RESPONSE_ENDS.has(type)) return nestedUsage(message, response);
  if (type !== TRANSCRIBED) return undefined;
  const itemId = stringValue(message, item);
  const partText = part === undefined ? "" : message.toString("latin1", part.valueStart, part.valueStart + 20);
  return { id: itemId === undefined ? undefined : `${itemId}/${partText}`, usage: usageValue(message, usage) };
}
