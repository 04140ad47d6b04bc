/** What `GET /` answers: how to call the simulated provider, and its table of faults. */

import { FAULTS } from "./faults.ts";
import { MAX_LAST } from "./last.ts";
import { MANNERS } from "./manners.ts";

export function helpText(url: string): string {
  return `The simulated provider: both dialects, with answers that follow from the question alone.

  compat    base URL ${url}/v1   (chat/completions, completions, embeddings, responses, audio, images, moderations, rerank)
  messages  base URL ${url}      (v1/messages, v1/messages/count_tokens)
  both      ${url}/v1/models, ${url}/v1/files
  sockets   ${url.replace("http", "ws")}/v1/realtime?model=NAME, ${url.replace("http", "ws")}/v1/responses

Try it:

  curl ${url}/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model": "sim-small", "messages": [{"role": "user", "content": "Hello!"}]}'

Any model name works. These ask for a fault; what follows a colon does not matter (sim-429:blue):

${tableOf(FAULTS)}

These ask for a manner of answering, or of refusing; a plus joins them (sim-calls-2+text-first):

${tableOf(MANNERS)}

A request that a real provider would refuse is refused as it would be, whatever the model.

GET /sim/counts says what was received and how it ended; GET /sim/last tells the newest request and
GET /sim/last?n=5 the last five (${MAX_LAST} at most): body, names of headers, and what was understood. POST /sim/reset forgets all of it.
`;
}

function tableOf(rows: readonly { readonly name: string; readonly does: string }[]): string {
  const width = Math.max(...rows.map(({ name }) => name.length));
  return rows.map(({ name, does }) => `  ${name.padEnd(width)}  ${does}`).join("\n");
}
