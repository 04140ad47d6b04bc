/** Writes the events of a messages stream as text, ready to send. Source: dialects reference, 5.3. */

export const PING = 'event: ping\ndata: {"type":"ping"}\n\n';
/** Comment that keeps the connection alive before `message_start`, when no event is allowed yet. */
export const COMMENT = ": ping\n\n";
export const MESSAGE_STOP = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';

export interface MessageEnd {
  readonly stop_reason: string;
  readonly stop_details: object | null;
}

export interface MessageHead {
  readonly id: string;
  readonly model: string;
  readonly serviceTier: string | undefined;
}

/**
 * Returns the first event. `inputTokens` is an estimate: the real usage is known at the end, but the official client requires
 * the member here, and some libraries only read it here.
 */
export function messageStart({ id, model, serviceTier }: MessageHead, inputTokens: number): string {
  const message = {
    id,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    usage: {
      input_tokens: inputTokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 0,
      service_tier: serviceTier,
    },
  };
  return frame("message_start", { type: "message_start", message });
}

export function textStart(index: number): string {
  return blockStart(index, { type: "text", text: "" });
}

export function thinkingStart(index: number): string {
  return blockStart(index, { type: "thinking", thinking: "", signature: "" });
}

export function toolUseStart(index: number, id: string, name: string): string {
  return blockStart(index, { type: "tool_use", id, name, input: {} });
}

export function textDelta(index: number, text: string): string {
  return delta(index, "text_delta", "text", text);
}

export function thinkingDelta(index: number, thinking: string): string {
  return delta(index, "thinking_delta", "thinking", thinking);
}

export function signatureDelta(index: number, signature: string): string {
  return delta(index, "signature_delta", "signature", signature);
}

export function inputDelta(index: number, json: string): string {
  return delta(index, "input_json_delta", "partial_json", json);
}

export function blockStop(index: number): string {
  return `event: content_block_stop\ndata: {"type":"content_block_stop","index":${index}}\n\n`;
}

export function messageDelta({ stop_reason, stop_details }: MessageEnd, usage: object): string {
  return frame("message_delta", {
    type: "message_delta",
    delta: { stop_reason, stop_sequence: null, stop_details },
    usage,
  });
}

function blockStart(index: number, block: object): string {
  return frame("content_block_start", { type: "content_block_start", index, content_block: block });
}

/** Writes a delta. A stream has thousands of them, so the event is assembled as text. */
function delta(index: number, type: string, member: string, text: string): string {
  return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"${type}","${member}":${JSON.stringify(text)}}}\n\n`;
}

function frame(name: string, event: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(event)}\n\n`;
}
