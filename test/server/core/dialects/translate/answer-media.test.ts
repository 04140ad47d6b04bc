/**
 * Images and sound in answers of compat providers, read by every reader: for clients of the messages dialect and of responses,
 * whole, streamed and as an unrequested stream. Nothing is left out without a notice. Source: dialects reference, 3.2; the forms are
 * those of OpenRouter, LiteLLM, OpenAI and DashScope.
 */
import assert from "node:assert/strict";
import test from "node:test";
import { foldAnswer } from "../../../../../src/server/core/dialects/translate/fold-answer.ts";
import { chatToMessage } from "../../../../../src/server/core/dialects/translate/to-messages/chat-to-message.ts";
import { responsesReading } from "../../../../../src/server/core/dialects/translate/to-responses/answer-to-response.ts";
import { messageOf, termsOf as messagesTerms, STAMP, translate as toMessages } from "./to-messages-answer-support.ts";
import { responseOf, termsOf, translate } from "./to-responses-answer-support.ts";

type Values = Readonly<Record<string, unknown>>;

/** Base64 of three bytes. */
const DOT = "aW1n";
const PNG = `data:image/png;base64,${DOT}`;
const WEB = "https://images.test/a.png?size=1";
const image = (url: string): object => ({ type: "image_url", image_url: { url } });
const leftOut = (what: string): string =>
  `[${what} is left out, because answers of this API cannot contain it. POST /v1/chat/completions returns it.]`;
const AN_IMAGE = leftOut("An image (image/png, 3 bytes)");
const SOUND = leftOut("Sound (3 bytes)");
const VIDEOS = Array.from({ length: 300 }, (_, at) => ({
  type: "video_url",
  video_url: { url: `data:video/mp4;base64,${String(at).padStart(4, "0")}` },
}));
const MANY_NOTICES = [
  ...Array.from({ length: 8 }, () => leftOut("A video (video/mp4, 3 bytes)")),
  "[292 more images or files are left out, because answers of this API cannot contain them. POST /v1/chat/completions returns them.]",
].join("\n\n");
const generated = (format = "png"): string => `${format} ${DOT}`;

interface Case {
  readonly message: Values;
  /** Deltas of the stream; by default the message as a single delta. */
  readonly deltas?: readonly Values[];
  /** Text for a client of the messages dialect. */
  readonly text: string;
  /** Items for a client of responses: the texts of messages, and images as their format and data. */
  readonly items: readonly string[];
}

const CASES: Readonly<Record<string, Case>> = {
  "an image beside the text": {
    message: { content: "Here:", images: [image(PNG)] },
    deltas: [
      { role: "assistant", content: "" },
      { content: "He" },
      { content: "re:" },
      { content: "", images: [image(PNG)] },
    ],
    text: `Here:\n\n${AN_IMAGE}`,
    items: ["Here:", generated()],
  },
  "an image alone": {
    message: { content: null, images: [image(PNG)] },
    deltas: [{ images: [image(PNG)] }],
    text: AN_IMAGE,
    items: [generated(), ""],
  },
  "an image that the last chunk repeats": {
    message: { content: "Here:", images: [image(PNG), image(PNG)] },
    deltas: [{ content: "Here:" }, { images: [image(PNG)] }, { images: [image(PNG)] }],
    text: `Here:\n\n${AN_IMAGE}`,
    items: ["Here:", generated()],
  },
  "two images and the text between them": {
    message: { content: [image(PNG), { type: "text", text: "and" }, image("data:image/jpeg;base64,aW1n")] },
    text: `${AN_IMAGE}\n\nand\n\n${leftOut("An image (image/jpeg, 3 bytes)")}`,
    items: [generated(), "and", generated("jpeg")],
  },
  "the address of an image": {
    message: { content: [{ type: "text", text: "Here:" }, image(WEB), { type: "text", text: "Good?" }] },
    text: `Here:\n\n![image](${WEB})\n\nGood?`,
    items: [`Here:\n\n![image](${WEB})\n\nGood?`],
  },
  "images in other forms": {
    message: {
      content: "",
      images: [{ image_url: WEB }, { url: `${WEB}&2` }, { b64_json: DOT }, `${WEB}&3`, { type: "image_url" }],
    },
    text: [
      `![image](${WEB})`,
      `![image](${WEB}&2)`,
      leftOut("An image (3 bytes)"),
      `![image](${WEB}&3)`,
      leftOut("An image"),
    ].join("\n\n"),
    items: [`![image](${WEB})\n\n![image](${WEB}&2)`, generated(), `![image](${WEB}&3)\n\n${leftOut("An image")}`],
  },
  "hundreds of media without a form in the client's dialect": {
    message: { content: VIDEOS },
    deltas: [{ content: VIDEOS.slice(0, 5) }, { content: VIDEOS.slice(5, 200) }, { content: VIDEOS.slice(200) }],
    text: MANY_NOTICES,
    items: [MANY_NOTICES],
  },
  "one medium more than has a notice of its own": {
    message: { content: VIDEOS.slice(0, 9) },
    text: MANY_NOTICES.replace("292 more images or files are", "1 more image or file is").replaceAll("them", "it"),
    items: [MANY_NOTICES.replace("292 more images or files are", "1 more image or file is").replaceAll("them", "it")],
  },
  "sound with its transcript": {
    message: { content: null, audio: { id: "audio_1", data: DOT, transcript: "Hello there", expires_at: 1 } },
    deltas: [
      { content: null, audio: { id: "audio_1", transcript: "Hello" } },
      { audio: { data: "aW" } },
      { audio: { transcript: " there" } },
      { audio: { data: "1n" } },
      { audio: { expires_at: 1 } },
    ],
    text: `Hello there\n\n${SOUND}`,
    items: [`Hello there\n\n${SOUND}`],
  },
  "sound whose words the text repeats": {
    message: { content: "Hello there", audio: { data: DOT, transcript: "Hello there" } },
    deltas: [{ content: "Hello" }, { content: " there" }, { audio: { data: DOT, transcript: "Hello there" } }],
    text: `Hello there\n\n${SOUND}`,
    items: [`Hello there\n\n${SOUND}`],
  },
  "sound with other words than the text": {
    message: { content: "Listen:", audio: { data: DOT, transcript: "Hello there" } },
    deltas: [
      { content: "Listen:" },
      { audio: { transcript: "Hello" } },
      { audio: { data: DOT, transcript: " there" } },
    ],
    text: `Listen:\n\nHello there\n\n${SOUND}`,
    items: [`Listen:\n\nHello there\n\n${SOUND}`],
  },
  "sound alone": { message: { content: null, audio: { data: DOT } }, text: SOUND, items: [SOUND] },
  "other parts": {
    message: {
      content: [
        { type: "text", text: "a" },
        { type: "output_audio", output_audio: { data: DOT } },
        { type: "video_url", video_url: { url: "https://videos.test/a.mp4" } },
        { type: "file", file: { file_data: `data:application/pdf;base64,${DOT}` } },
      ],
    },
    text: `a\n\n${SOUND}\n\n[video](https://videos.test/a.mp4)\n\n${leftOut("A file (application/pdf, 3 bytes)")}`,
    items: [`a\n\n${SOUND}\n\n[video](https://videos.test/a.mp4)\n\n${leftOut("A file (application/pdf, 3 bytes)")}`],
  },
};

const wholeOf = (message: Values): string =>
  JSON.stringify({ id: "c", model: "m1", choices: [{ index: 0, message, finish_reason: "stop" }] });
const streamOf = (deltas: readonly Values[]): string =>
  [...deltas.map((delta) => ({ delta, finish_reason: null })), { delta: {}, finish_reason: "stop" }]
    .map((choice) => `data: ${JSON.stringify({ id: "c", model: "m1", choices: [{ index: 0, ...choice }] })}\n\n`)
    .join("")
    .concat("data: [DONE]\n\n");

const messageText = (message: unknown): string => {
  const { content } = message as { readonly content: readonly Values[] };
  assert.deepEqual([...new Set(content.map(({ type }) => type))], ["text"]);
  return content.map(({ text }) => text).join("");
};
const itemsOf = (response: unknown): readonly string[] =>
  (response as { readonly output: readonly Values[] }).output.map((item) => {
    if (item["type"] === "image_generation_call") {
      assert.match(String(item["id"]), /^ig_/);
      assert.equal(item["status"], "completed");
      return `${item["output_format"]} ${item["result"]}`;
    }
    return (item["content"] as readonly Values[]).map(({ text }) => text).join("");
  });
const responseWhole = (body: string): unknown =>
  JSON.parse(responsesReading("chat", termsOf({ wantsStream: false })).translateWhole(body, STAMP, false));

for (const [what, { message, deltas = [message], text, items }] of Object.entries(CASES)) {
  const [whole, stream] = [wholeOf(message), streamOf(deltas)];
  test(`${what}: a messages client`, () => {
    const terms = messagesTerms(undefined);
    assert.equal(messageText(JSON.parse(chatToMessage(whole, terms, STAMP))), text);
    assert.equal(messageText(JSON.parse(chatToMessage(stream, terms, STAMP))), text);
    const { frames, problem } = toMessages([Buffer.from(stream)], terms);
    assert.equal(problem, undefined);
    assert.equal(messageText(messageOf(frames)), text);
  });
  test(`${what}: a client of responses`, () => {
    assert.deepEqual(itemsOf(responseWhole(whole)), items);
    assert.deepEqual(itemsOf(responseWhole(stream)), items);
    const { frames, problem } = translate("chat", [Buffer.from(stream)], termsOf());
    assert.equal(problem, undefined);
    assert.deepEqual(itemsOf(responseOf(frames)), items);
  });
  test(`${what}: an unrequested stream for a client of chat completions keeps all parts`, () => {
    const { choices } = JSON.parse(foldAnswer("chat", stream)) as { readonly choices: readonly { message: Values }[] };
    const folded = choices[0]?.message ?? assert.fail();
    assert.equal(messageText(JSON.parse(chatToMessage(wholeOf(folded), messagesTerms(undefined), STAMP))), text);
  });
}

test("images of several choices belong to one answer", () => {
  const choices = [0, 1].map((index) => ({
    index,
    message: { content: `n${index} `, images: [image(`${WEB}&${index}`)] },
    finish_reason: "stop",
  }));
  const text = messageText(JSON.parse(chatToMessage(JSON.stringify({ choices }), messagesTerms(undefined), STAMP)));
  assert.equal(text, `n0 n1 \n\n![image](${WEB}&0)\n\n![image](${WEB}&1)`);
});

test("an image for which a response has no room is named", () => {
  const large = `data:image/png;base64,${"A".repeat(5 << 20)}`;
  const items = itemsOf(responseWhole(wholeOf({ content: "Here:", images: [image(PNG), image(large)] })));
  assert.deepEqual(items, ["Here:", generated(), leftOut("An image (image/png, 3932 kB)")]);
});

test("a part of an unknown type makes the answer invalid", () => {
  const { problem } = toMessages(
    [Buffer.from(streamOf([{ content: [{ type: "widget" }] }]))],
    messagesTerms(undefined),
  );
  assert.equal(problem, "a part of the content is of an unknown type");
});
