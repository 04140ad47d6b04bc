/** Messages requests, by the relevant part. */

export const USER = { role: "user", content: "Hi" };
export const TOOL = { name: "f", input_schema: { type: "object" } };
export const MARK = { type: "ephemeral" };
export const PNG = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" };
export const PDF = { type: "base64", media_type: "application/pdf", data: "JVBERg==" };

/** A request that uses nothing; rows are merged over it. */
export const PLAIN = { model: "m", max_tokens: 100, system: "Be brief.", messages: [USER] };

export const user = (...content: readonly object[]) => ({ messages: [{ role: "user", content }] });
export const replays = (...content: readonly object[]) => ({
  messages: [USER, { role: "assistant", content }, USER],
});
export const text = (of: object) => user({ type: "text", text: "Hi", ...of });
export const image = (source: object, of: object = {}) => user({ type: "image", source, ...of });
export const document = (source: object, of: object = {}) => user({ type: "document", source, ...of });
export const tools = (...list: readonly object[]) => ({ tools: list });
export const result = (of: object) => ({
  messages: [
    USER,
    { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "f", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", ...of }] },
  ],
});
