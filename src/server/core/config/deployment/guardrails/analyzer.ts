/** Detector type `remote`: a server that speaks an analyzer's `/analyze` protocol. Spec: document 3, detector `remote`. */

import { choice, integer, mayBeSecret, object, required, text, withDefault } from "../../schema.ts";
import { filled, secretHeaders } from "../terms.ts";
import { category } from "./kinds.ts";

export const analyzer = object("An analyzer that is asked over HTTP.", {
  endpoint: required(mayBeSecret(text("Root of the analyzer.", { format: "url" }))),
  path: withDefault(text("Path that is posted to.", { pattern: "^/\\S*$", examples: ["/analyze"] }), "/analyze"),
  language: withDefault(filled("Language sent with every call."), "en"),
  headers: secretHeaders("Headers sent with every call."),
  concurrency: withDefault(integer("Calls in flight for one request.", { minimum: 1 }), 4),
  category: withDefault(category("Namespace of the annotations."), "pii"),
  offsets: withDefault(
    choice("What the server's start and end count; a server's own `gateway.offsets` takes precedence.", [
      "chars",
      "bytes",
      "utf16",
    ]),
    "chars",
  ),
});
