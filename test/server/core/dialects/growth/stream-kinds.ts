/** Provider streams that consist of many elements of one kind, by their form. */

type Frames = (count: number) => string;

const times = (count: number, one: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => one(index)).join("");

const quoted = (text: string): string => JSON.stringify(text);
const LONG = "x".repeat(100_000);
const PIXEL = "iVBORw0KGgo".repeat(20);

const chunk = (delta: string, more = ""): string =>
  `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m1","choices":[{"index":0,"delta":${delta},"finish_reason":null${more}}]}\n\n`;
const CHAT_END = `data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":9}}\n\ndata: [DONE]\n\n`;
const chat =
  (one: (index: number, count: number) => string, before = "", after = ""): Frames =>
  (count) =>
    chunk('{"role":"assistant","content":""}') + before + times(count, (index) => one(index, count)) + after + CHAT_END;
const call = (index: number | string, id: string, name: string, args: string): string =>
  chunk(
    `{"tool_calls":[{"index":${index},"id":${quoted(id)},"type":"function","function":{"name":${quoted(name)},"arguments":${quoted(args)}}}]}`,
  );
const page = (index: number): string =>
  `{"type":"url_citation","url_citation":{"url":"https://a.example/${index}","title":"t","start_index":0,"end_index":1}}`;
const text = (content: string): string => chunk(`{"content":${quoted(content)}}`);

/** One chunk whose list has all elements. */
const chatList =
  (name: string, one: (index: number) => string): Frames =>
  (count) =>
    chunk('{"role":"assistant","content":"a"}') +
    chunk(`{${quoted(name)}:[${Array.from({ length: count }, (_, index) => one(index)).join()}]}`) +
    CHAT_END;

export const CHAT_STREAMS: Readonly<Record<string, Frames>> = {
  "text deltas": chat(() => text("é")),
  "empty deltas": chat(() => chunk("{}")),
  "text deltas with log probabilities": chat(() =>
    chunk('{"content":"a"}', ',"logprobs":{"content":[{"token":"a","logprob":-1,"bytes":[97],"top_logprobs":[]}]}'),
  ),
  refusals: chat(() => chunk('{"refusal":"n"}')),
  reasoning: chat(() => chunk('{"reasoning_content":"r"}')),
  "reasoning and text in turn": chat(() => chunk('{"reasoning_content":"r"}') + text("t")),
  "details of reasoning": chat(() =>
    chunk('{"reasoning":"r","reasoning_details":[{"type":"reasoning.text","text":"r","index":0}]}'),
  ),
  "signed details of reasoning": chat((index) =>
    chunk(`{"reasoning_details":[{"type":"reasoning.text","text":"r","signature":"s","index":${index}}]}`),
  ),
  "encrypted details of reasoning": chat((index) =>
    chunk(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"r","index":${index}}]}`),
  ),
  "whole calls": chat((index) => call(index, `c${index}`, "f", "{}")),
  "calls without an index": chat((index) => call("null", `c${index}`, "f", '{"a":1}')),
  "calls with one index and no ids": chat(() => call(0, "", "f", '{"a":1}')),
  "interleaved calls": (count) =>
    chat((index) => call(index, `c${index}`, "f", ""))(count).replace(CHAT_END, "") +
    times(count, (index) => call(index, "", "", '{"a":')) +
    times(count, (index) => call(index, "", "", "1}")) +
    CHAT_END,
  "fragments without an index after calls with one": (count) =>
    chat((index) => call(index, `c${index}`, "f", '{"a":1}'))(count).replace(CHAT_END, "") +
    call("null", "x", "g", '{"a":"') +
    times(count, () => call("null", "", "", "b")) +
    call("null", "", "", '"}') +
    CHAT_END,
  "fragments of arguments": chat(() => call(0, "", "", "b"), call(0, "c0", "f", '{"a":"'), call(0, "", "", '"}')),
  "escapes in arguments": chat(() => call(0, "", "", "\\u0041"), call(0, "c0", "f", '{"a":"'), call(0, "", "", '"}')),
  "members in arguments": chat(
    (index) => call(0, "", "", `"a${index}":${index},`),
    call(0, "c0", "f", "{"),
    call(0, "", "", '"z":1}'),
  ),
  "arguments that are not JSON": chat(() => call(0, "", "", "b"), call(0, "c0", "f", "oops")),
  "spaces before arguments": chat(() => call(0, "", "", " "), call(0, "c0", "f", ""), call(0, "", "", "{}")),
  "spaces after arguments": chat(() => call(0, "", "", " "), call(0, "c0", "f", `{"a":"${LONG}"}`)),
  "spaces after an empty object": chat(() => call(0, "", "", " "), call(0, "c0", "f", "{}")),
  "name in pieces": chat(() => call(0, "", "n", ""), call(0, "c0", "f", ""), call(0, "", "", "{}")),
  "legacy fragments of arguments": chat(
    () => chunk('{"function_call":{"arguments":"b"}}'),
    chunk('{"function_call":{"name":"f","arguments":"{\\"a\\":\\""}}'),
    chunk('{"function_call":{"arguments":"\\"}"}}'),
  ),
  "annotations during text": chat((index) => chunk(`{"content":"a","annotations":[${page(index)}]}`)),
  "annotations after a long text": chat((index) => chunk(`{"annotations":[${page(index)}]}`), text(LONG)),
  "annotations after a finished text": chat(
    (index) => chunk(`{"annotations":[${page(index)}]}`),
    text(LONG) + call(0, "c", "f", "{}"),
  ),
  "annotations of one chunk": chatList("annotations", page),
  "parts of content": chat(() => chunk('{"content":[{"type":"text","text":"a"}]}')),
  "parts of one chunk": chatList("content", () => '{"type":"text","text":"a"}'),
  "references between parts": chat(() =>
    chunk('{"content":[{"type":"text","text":"a"},{"type":"reference","reference_ids":[1]}]}'),
  ),
  images: chat((index) =>
    chunk(`{"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,${index}${PIXEL}"}}]}`),
  ),
  "images and text in turn": chat((index) =>
    chunk(
      `{"content":"a","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,${index}${PIXEL}"}}]}`,
    ),
  ),
  "links to images": chat((index) =>
    chunk(`{"images":[{"type":"image_url","image_url":{"url":"https://a.example/${index}.png"}}]}`),
  ),
  "sound with a transcript": chat(() => chunk('{"audio":{"id":"a","data":"AAAA","transcript":"t"}}')),
  "text and a transcript": chat(() => chunk('{"content":"t","audio":{"id":"a","data":"AAAA","transcript":"t"}}')),
  choices: chat((index) => `data: {"choices":[{"index":${index},"delta":{"content":"a"},"finish_reason":null}]}\n\n`),
  "choices of one chunk": (count) =>
    `data: {"choices":[${Array.from({ length: count }, (_, index) => `{"index":${index},"delta":{"content":"a"},"finish_reason":"stop"}`).join()}]}\n\n${CHAT_END}`,
  "unknown members": chat((index) => chunk(`{"content":"a","x${index}":["y"]}`, `,"z${index % 7}":["y"]`)),
  "usage in each chunk": chat((index) =>
    text("a").replace(/\}\n\n$/, `,"usage":{"prompt_tokens":3,"completion_tokens":${index}}}\n\n`),
  ),
  comments: chat(() => ": keep-alive\n\n"),
  "lines of a comment": chat(() => ": keep-alive\n"),
  "unknown events": chat(() => "event: ping\ndata: {}\n\n"),
  "other fields": chat((index) => `id: ${index}\nretry: 5\n${text("a")}`),
  "events without a blank line": chat(() => text("a").replace(/\n\n$/, "\n")),
  "events that end with carriage returns": chat(() => text("a").replaceAll("\n", "\r")),
  "data on many lines": (count) =>
    `data: {"choices":[\n${times(count, (index) => `data: {"index":0,"delta":{"content":"a"},"finish_reason":null}${index < count - 1 ? "," : ""}\n`)}data: ]}\n\n${CHAT_END}`,
  "one long text": (count) => text("x".repeat(100 * count)) + CHAT_END,
  "one long text of escapes": (count) => text('"\n\u{1F600}'.repeat(20 * count)) + CHAT_END,
  "one text of long arguments": (count) => call(0, "c", "f", `{"a":"${'\\"'.repeat(30 * count)}"}`) + CHAT_END,
  "cumulative arguments": (count) => {
    const steps = Math.ceil(Math.sqrt(count));
    const of = (length: number): string => call(0, "c", "f", `{"a":["${"b".repeat(length)}`);
    return (
      times(steps, (index) => of(steps * index)) +
      call(0, "c", "f", `{"a":["${"b".repeat(steps * steps)}"]}`) +
      CHAT_END
    );
  },
};

const event = (type: string, members: string): string =>
  `event: ${type}\ndata: {"type":"${type}"${members === "" ? "" : `,${members}`}}\n\n`;
const MESSAGE_START = event(
  "message_start",
  '"message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m1","usage":{"input_tokens":3,"output_tokens":1}}',
);
const MESSAGE_END =
  event("message_delta", '"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}') + event("message_stop", "");
const begin = (index: number, block: string): string =>
  event("content_block_start", `"index":${index},"content_block":${block}`);
const piece = (index: number, delta: string): string =>
  event("content_block_delta", `"index":${index},"delta":${delta}`);
const stop = (index: number): string => event("content_block_stop", `"index":${index}`);
const messages =
  (one: (index: number) => string, before = "", after = ""): Frames =>
  (count) =>
    MESSAGE_START + before + times(count, one) + after + MESSAGE_END;
const TEXT_BEGIN = begin(0, '{"type":"text","text":""}');
const THINKING_BEGIN = begin(0, '{"type":"thinking","thinking":"","signature":""}');
const toolBegin = (index: number): string =>
  begin(index, `{"type":"tool_use","id":"toolu_${index}","name":"f","input":{}}`);
const cited = (index: number): string =>
  `{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://a.example/${index}","title":"t","cited_text":"c","encrypted_index":"e"}}`;
const json = (text: string): string => `{"type":"input_json_delta","partial_json":${quoted(text)}}`;

export const MESSAGES_STREAMS: Readonly<Record<string, Frames>> = {
  "text deltas": messages(() => piece(0, '{"type":"text_delta","text":"é"}'), TEXT_BEGIN, stop(0)),
  "empty deltas": messages(() => piece(0, '{"type":"text_delta","text":""}'), TEXT_BEGIN, stop(0)),
  "blocks of text": messages((i) => begin(i, '{"type":"text","text":"a"}') + stop(i)),
  "blocks of text that are not closed": messages((i) => begin(i % 1000, '{"type":"text","text":"a"}')),
  "blocks of text with one index": messages(() => TEXT_BEGIN + piece(0, '{"type":"text_delta","text":"a"}') + stop(0)),
  thinking: messages(() => piece(0, '{"type":"thinking_delta","thinking":"é"}'), THINKING_BEGIN, stop(0)),
  "blocks of signed thinking": messages(
    (i) =>
      begin(i, '{"type":"thinking","thinking":"","signature":""}') +
      piece(i, '{"type":"thinking_delta","thinking":"a"}') +
      piece(i, '{"type":"signature_delta","signature":"s"}') +
      stop(i),
  ),
  signatures: messages(() => piece(0, '{"type":"signature_delta","signature":"s"}'), THINKING_BEGIN, stop(0)),
  "redacted thinking": messages((i) => begin(i, '{"type":"redacted_thinking","data":"d"}') + stop(i)),
  calls: messages((i) => toolBegin(i) + piece(i, json('{"a":1}')) + stop(i)),
  "calls with whole input": messages(
    (i) => begin(i, `{"type":"tool_use","id":"t${i}","name":"f","input":{"a":1.0}}`) + stop(i),
  ),
  "fragments of arguments": messages(
    () => piece(0, json("b")),
    toolBegin(0) + piece(0, json('{"a":"')),
    piece(0, json('"}')) + stop(0),
  ),
  "escapes in arguments": messages(
    () => piece(0, json("\\u0041")),
    toolBegin(0) + piece(0, json('{"a":"')),
    piece(0, json('"}')) + stop(0),
  ),
  "arguments that are not JSON": messages(() => piece(0, json("b")), toolBegin(0), stop(0)),
  "spaces after arguments": messages(
    () => piece(0, json(" ")),
    toolBegin(0) + piece(0, json(`{"a":"${LONG}"}`)),
    stop(0),
  ),
  "spaces before arguments": messages(() => piece(0, json(" ")), toolBegin(0), piece(0, json("{}")) + stop(0)),
  "interleaved calls": (count) =>
    MESSAGE_START +
    times(Math.min(count, 1000), toolBegin) +
    times(count, (i) => piece(i % Math.min(count, 1000), json(" "))) +
    MESSAGE_END,
  "citations during text": messages(
    (i) => piece(0, '{"type":"text_delta","text":"a"}') + piece(0, cited(i)),
    TEXT_BEGIN,
    stop(0),
  ),
  "citations after a long text": messages(
    (i) => piece(0, cited(i)),
    TEXT_BEGIN + piece(0, `{"type":"text_delta","text":"${LONG}"}`),
    stop(0),
  ),
  "blocks of text with citations": messages(
    (i) =>
      begin(i, '{"type":"text","text":"","citations":[]}') +
      piece(i, '{"type":"text_delta","text":"a"}') +
      piece(i, cited(i)) +
      stop(i),
  ),
  "results of a server's tool": messages(
    (i) => begin(i, `{"type":"web_search_tool_result","tool_use_id":"t${i}","content":[]}`) + stop(i),
  ),
  "reports of usage": messages((i) => event("message_delta", `"delta":{},"usage":{"output_tokens":${i}}`)),
  starts: messages(() => MESSAGE_START),
  pings: messages(() => event("ping", "")),
  comments: messages(() => ": keep-alive\n\n"),
  "unknown events": messages(() => event("later", '"a":1')),
  "one long text": (count) =>
    MESSAGE_START +
    TEXT_BEGIN +
    piece(0, `{"type":"text_delta","text":"${"x".repeat(100 * count)}"}`) +
    stop(0) +
    MESSAGE_END,
};

let sequence = 0;
const numbered = (type: string, members: string): string => event(type, `${members},"sequence_number":${sequence++}`);
const responses =
  (one: (index: number) => string, output: (count: number) => string): Frames =>
  (count) => {
    sequence = 0;
    return (
      numbered(
        "response.created",
        '"response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}',
      ) +
      times(count, one) +
      numbered(
        "response.completed",
        `"response":{"id":"resp_1","object":"response","status":"completed","output":[${output(count)}],"usage":{"input_tokens":3,"output_tokens":9}}`,
      )
    );
  };
const message = (i: number, text: string, annotations = ""): string =>
  `{"id":"msg_${i}","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":${quoted(text)},"annotations":[${annotations}]}]}`;
const list = (count: number, one: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => one(i)).join();
const at = (i: number): string => `"item_id":"msg_${i}","output_index":${i},"content_index":0`;

export const RESPONSES_STREAMS: Readonly<Record<string, Frames>> = {
  "text deltas": (count) =>
    responses(
      (i) =>
        (i === 0
          ? numbered(
              "response.output_item.added",
              `"output_index":0,"item":{"id":"msg_0","type":"message","content":[]}`,
            )
          : "") +
        numbered("response.output_text.delta", `${at(0)},"delta":"é"`) +
        (i < count - 1 ? "" : numbered("response.output_text.done", `${at(0)},"text":${quoted("é".repeat(count))}`)),
      () => message(0, "é".repeat(count)),
    )(count),
  "text deltas with padding": (count) =>
    responses(
      () => numbered("response.output_text.delta", `${at(0)},"delta":"a","obfuscation":"xyz"`),
      () => message(0, "a".repeat(count)),
    )(count),
  messages: responses(
    (i) =>
      numbered(
        "response.output_item.added",
        `"output_index":${i},"item":{"id":"msg_${i}","type":"message","content":[]}`,
      ) +
      numbered("response.output_text.delta", `${at(i)},"delta":"a"`) +
      numbered("response.output_text.done", `${at(i)},"text":"a"`) +
      numbered("response.output_item.done", `"output_index":${i},"item":${message(i, "a")}`),
    (count) => list(count, (i) => message(i, "a")),
  ),
  annotations: responses(
    (i) =>
      numbered(
        "response.output_text.annotation.added",
        `${at(0)},"annotation_index":${i},"annotation":{"type":"url_citation","url":"https://a.example/${i}","title":"t","start_index":0,"end_index":1}`,
      ),
    (count) =>
      message(
        0,
        "a",
        list(
          count,
          (i) => `{"type":"url_citation","url":"https://a.example/${i}","title":"t","start_index":0,"end_index":1}`,
        ),
      ),
  ),
  "fragments of arguments": (count) =>
    responses(
      (i) =>
        numbered(
          "response.function_call_arguments.delta",
          `"item_id":"fc_0","output_index":0,"delta":${quoted(i === 0 ? '{"a":"' : "b")}`,
        ),
      () =>
        `{"id":"fc_0","type":"function_call","call_id":"c","name":"f","arguments":${quoted(`{"a":"${"b".repeat(count - 1)}"}`)}}`,
    )(count),
  calls: responses(
    (i) =>
      numbered(
        "response.output_item.added",
        `"output_index":${i},"item":{"id":"fc_${i}","type":"function_call","call_id":"c${i}","name":"f","arguments":""}`,
      ) +
      numbered("response.function_call_arguments.delta", `"item_id":"fc_${i}","output_index":${i},"delta":"{}"`) +
      numbered("response.function_call_arguments.done", `"item_id":"fc_${i}","output_index":${i},"arguments":"{}"`) +
      numbered(
        "response.output_item.done",
        `"output_index":${i},"item":{"id":"fc_${i}","type":"function_call","call_id":"c${i}","name":"f","arguments":"{}"}`,
      ),
    (count) =>
      list(count, (i) => `{"id":"fc_${i}","type":"function_call","call_id":"c${i}","name":"f","arguments":"{}"}`),
  ),
  reasoning: (count) =>
    responses(
      () =>
        numbered(
          "response.reasoning_summary_text.delta",
          `"item_id":"rs_0","output_index":0,"summary_index":0,"delta":"a"`,
        ),
      () => `{"id":"rs_0","type":"reasoning","summary":[{"type":"summary_text","text":"${"a".repeat(count)}"}]}`,
    )(count),
  "unknown events": responses(
    () => numbered("response.later", '"a":1'),
    () => message(0, "a"),
  ),
};
