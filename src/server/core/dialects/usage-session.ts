/**
 * Usage told in the messages of a WebSocket session: realtime, and responses over WebSocket. Source: dialects
 * reference, 4.1.
 *
 * Each response counts once, by its id, and so does each transcription of the caller's audio, which is billed by itself.
 */
import { scanObject } from "./json-scan.ts";
import { NO_USAGE, type Usage } from "./usage.ts";
import { mayTellUsageIn, nestedUsage, stringValue, usageValue } from "./usage-member.ts";
import { normaliseUsage } from "./usage-normalise.ts";
import { RESPONSE_ENDS } from "./usage-stream.ts";

export interface SessionUsage {
  /** One message of the upstream. Of what ended with it; undefined for every other message. Binary ones are audio. */
  read(message: Buffer, isBinary: boolean): Usage | undefined;
  /**
   * What the response under way has said and not told the usage of: a token for each of its deltas, at least. For a session
   * that ends within it; undefined when none was.
   */
  untold(): Usage | undefined;
}

const DELTA = Buffer.from('.delta"');

/** Ids remembered. A response is made in seconds, and few at a time: a repetition comes soon or never. */
const MAX_IDS = 256;

const TRANSCRIBED = "conversation.item.input_audio_transcription.completed";

interface Ended {
  /** Undefined: it cannot be told from another, and counts by itself. */
  readonly id: string | undefined;
  readonly usage: unknown;
}

export function createSessionUsage(): SessionUsage {
  const seen = new Set<string>();
  let deltas = 0;
  return {
    untold: () => (deltas === 0 ? undefined : { ...NO_USAGE, outputTokens: deltas, totalTokens: deltas }),
    read(message, isBinary) {
      if (isBinary) return undefined;
      if (!mayTellUsageIn(message)) {
        if (message.includes(DELTA)) deltas++;
        return undefined;
      }
      const ended = endedBy(message);
      if (ended === undefined) return undefined;
      deltas = 0;
      const usage = normaliseUsage("compat", ended.usage);
      if (usage === undefined || ended.id === undefined) return usage;
      if (seen.has(ended.id)) return undefined;
      const [oldest] = seen;
      if (seen.size >= MAX_IDS && oldest !== undefined) seen.delete(oldest);
      seen.add(ended.id);
      return usage;
    },
  };
}

function endedBy(message: Buffer): Ended | undefined {
  const scan = scanObject(message, ["type", "response", "usage", "item_id", "content_index"]);
  if (scan.kind === "problem") return undefined;
  const [typeMember, response, usage, item, part] = scan.members;
  const type = stringValue(message, typeMember) ?? "";
  if (type === "response.done" || RESPONSE_ENDS.has(type)) return nestedUsage(message, response);
  if (type !== TRANSCRIBED) return undefined;
  const itemId = stringValue(message, item);
  const partText = part === undefined ? "" : message.toString("latin1", part.valueStart, part.valueStart + 20);
  return { id: itemId === undefined ? undefined : `${itemId}/${partText}`, usage: usageValue(message, usage) };
}
