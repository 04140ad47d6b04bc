/** What `GET /` answers: how to call the simulated provider, and its table of faults. */

import { FAULTS } from "./faults.ts";

export function helpText(url: string): string {
  const width = Math.max(...FAULTS.map(({ name }) => name.length));
  const rows = FAULTS.map(({ name, does }) => `  ${name.padEnd(width)}  ${does}`);
  return `The simulated provider: both dialects, with answers that follow from the question alone.

  compat    base URL ${url}/v1   (chat/completions, completions, embeddings, responses, audio, images, moderations, rerank)
  messages  base URL ${url}      (v1/messages, v1/messages/count_tokens)
  both      ${url}/v1/models, ${url}/v1/files
  sockets   ${url.replace("http", "ws")}/v1/realtime?model=NAME, ${url.replace("http", "ws")}/v1/responses

Try it:

  curl ${url}/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model": "sim-small", "messages": [{"role": "user", "content": "Hello!"}]}'

Any model name works. These ask for a fault; what follows a colon does not matter (sim-429:blue):

${rows.join("\n")}

GET /sim/counts says what was received and how it ended; POST /sim/reset zeroes the counts.
`;
}
