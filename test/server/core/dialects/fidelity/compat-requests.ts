/** Chat completion requests, by the relevant part. */
export const USER = { role: "user", content: "Hi" };
export const CALL = { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } };
export const RESULT = { role: "tool", tool_call_id: "call_1", content: "done" };
export const FUNCTION = { name: "f", parameters: { type: "object" } };
export const PDF = "data:application/pdf;base64,JVBERg==";
export const PNG = "data:image/png;base64,iVBORw0KGgo=";

export const user = (...content: readonly object[]) => ({ messages: [{ role: "user", content }] });
export const replays = (turn: object) => ({ messages: [USER, { role: "assistant", content: "Well", ...turn }, USER] });
export const called = (turn: object = {}) => ({
  messages: [USER, { role: "assistant", content: null, tool_calls: [CALL], ...turn }, RESULT],
});
export const image = (url: string) => user({ type: "image_url", image_url: { url } });
export const file = (of: object) => user({ type: "file", file: of });
export const text = (of: object) => user({ type: "text", text: "Hi", ...of });
export const calledWith = (written: unknown) =>
  called({ tool_calls: [CALL, { ...CALL, id: "call_2", function: { name: "f", arguments: written } }] });

/** A request that uses nothing; rows are merged over it. */
export const PLAIN = { model: "m", messages: [{ role: "system", content: "Be brief." }, USER] };
