/** Detector type `remote`: a server that speaks an analyzer's `/analyze` protocol. Spec: document 3, detector `remote`. */

import { choice, example, integer, mayBeSecret, object, required, text, withDefault } from "../../schema/schema.ts";
import { filledAs, secretHeaders } from "../terms.ts";
import { category } from "./kinds.ts";

export const analyzer = object(
  "The detector asks an analyzer over HTTP, such as Presidio's.",
  {
    endpoint: required(
      mayBeSecret(
        text("The root URL of the analyzer.", { format: "url", examples: ["http://presidio.internal:5002"] }),
      ),
    ),
    path: withDefault(
      text("Texts are posted to this path.", { pattern: "^/\\S*$", examples: ["/analyze"] }),
      "/analyze",
    ),
    language: withDefault(filledAs("Every call states this language.", "en", "de"), "en"),
    headers: secretHeaders("Every call carries these headers."),
    concurrency: withDefault(
      example(integer("One request has at most this many calls in flight.", { minimum: 1 }), 8),
      4,
    ),
    category: withDefault(category("Findings belong to this category.", "pii"), "pii"),
    offsets: withDefault(
      choice(
        "The server counts the start and end of findings in these units. A server that states `gateway.offsets` itself overrides the key.",
        ["chars", "bytes", "utf16"],
      ),
      "chars",
    ),
  },
  { examples: [{ endpoint: "http://presidio.internal:5002" }] },
);
