/** Features other than text: images, documents, searches, and structured answers. */
import assert from "node:assert/strict";
import type { Feature, RequestByClient } from "../cell.ts";
import { answers } from "./question.ts";

/** One transparent pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PDF = Buffer.from("%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n").toString("base64");
const IMAGE_URL = "https://example.com/cat.png";
const WHAT = "What is shown?";

const CITY = { city: "simulated city", population: 12_345 };

const schemaOf = (population: Readonly<Record<string, unknown>>) => ({
  type: "object" as const,
  properties: { city: { type: "string" }, population: { type: "integer", ...population } },
  required: ["city", "population"],
  additionalProperties: false,
});
const SCHEMA = schemaOf({ enum: [CITY.population] });
const BOUNDED = schemaOf({ minimum: CITY.population, description: "Heads." });

const imagePart = (url: string) => ({ type: "image_url" as const, image_url: { url } });
const filePart = {
  type: "file" as const,
  file: { filename: "one.pdf", file_data: `data:application/pdf;base64,${PDF}` },
};
const documentBlock = {
  type: "document" as const,
  title: "one.pdf",
  source: { type: "base64" as const, media_type: "application/pdf" as const, data: PDF },
};
const pixelBlock = {
  type: "image" as const,
  source: { type: "base64" as const, media_type: "image/png" as const, data: PNG },
};
const linkedBlock = { type: "image" as const, source: { type: "url" as const, url: IMAGE_URL } };
const pixelPart = imagePart(`data:image/png;base64,${PNG}`);
const linkedPart = imagePart(IMAGE_URL);
const what = { type: "text" as const, text: WHAT };

/** One user turn with media, in the client's and the provider's dialect. */
function shown<Part, Block>(parts: Part[], blocks: Block[]) {
  return {
    openai: { messages: [{ role: "user" as const, content: parts }] },
    anthropic: { messages: [{ role: "user" as const, content: blocks }] },
  };
}

function mediaFeature(name: string, { openai, anthropic }: RequestByClient): Feature {
  return {
    name,
    request: { openai, anthropic },
    sent: { compat: openai, messages: anthropic },
    check: (answer) => answers(answer, "sim-small", WHAT),
  };
}

export const MEDIA_FEATURES: readonly Feature[] = [
  mediaFeature("an image by URL", shown([what, linkedPart], [what, linkedBlock])),
  mediaFeature("an image within the request", shown([pixelPart, what], [pixelBlock, what])),
  mediaFeature("a PDF within the request", shown([filePart, what], [documentBlock, what])),
  {
    name: "web search",
    request: {
      openai: { messages: [{ role: "user", content: WHAT }], web_search_options: {} },
      anthropic: {
        messages: [{ role: "user", content: WHAT }],
        tools: [{ type: "web_search_20250305", name: "web_search" }],
      },
    },
    sent: {
      compat: { web_search_options: {} },
      messages: { tools: [{ type: "web_search_20250305", name: "web_search" }] },
    },
    check: (answer) => answers(answer, "sim-small", WHAT),
  },
  {
    name: "structured output",
    request: {
      openai: {
        messages: [{ role: "user", content: "The largest city?" }],
        response_format: { type: "json_schema", json_schema: { name: "city", strict: true, schema: SCHEMA } },
      },
      anthropic: {
        messages: [{ role: "user", content: "The largest city?" }],
        output_config: { format: { type: "json_schema", schema: SCHEMA } },
      },
    },
    sent: {
      compat: { response_format: { type: "json_schema", json_schema: { schema: SCHEMA } } },
      messages: { output_config: { format: { type: "json_schema", schema: SCHEMA } } },
    },
    check: (answer) => assert.deepEqual(JSON.parse(answer.text), CITY),
  },
  {
    name: "structured output within bounds",
    request: {
      openai: {
        messages: [{ role: "user", content: "The largest city?" }],
        response_format: { type: "json_schema", json_schema: { name: "city", strict: true, schema: BOUNDED } },
      },
    },
    sent: {
      compat: { response_format: { json_schema: { schema: BOUNDED } } },
      messages: {
        output_config: { format: { schema: schemaOf({ description: "Heads.\n\n{minimum: 12345}" }) } },
      },
    },
    check: (answer) => assert.equal(JSON.parse(answer.text).city, CITY.city),
  },
];
