/** MCP servers: those that are reached by Streamable HTTP. */

import { baseUrlOf } from "./address.ts";
import type { Entry, Reading } from "./draft.ts";
import { pathNameOf } from "./literally.ts";
import type { Section } from "./source.ts";

export interface ForeignServer {
  readonly name: string;
  readonly section: Section;
  /** Key of its address. */
  readonly url: string;
  readonly isHttp: boolean;
  readonly transportKey: string;
  /** Read for a server that is carried over alone. */
  readonly apiKey: () => string | undefined;
}

const ADVICE: Readonly<Record<string, string>> = {
  headers: "left out, and not copied: `api_key` or an entry of `credentials` is what a server is called with",
  static_headers: "left out, and not copied: `api_key` or an entry of `credentials` is what a server is called with",
};

export function mcpEntries(servers: readonly ForeignServer[], { variables }: Reading): readonly Entry[] {
  const names = new Set<string>();
  return servers.flatMap(({ name, section, url, isHttp, transportKey, apiKey }) => {
    const path = pathNameOf(name);
    if (!isHttp) {
      section.tell(
        transportKey,
        "left out: a server is reached by Streamable HTTP; put one that speaks stdio or SSE behind a bridge",
      );
      return [];
    }
    const isOwn = path !== "" && !names.has(path);
    const address = isOwn ? baseUrlOf(section, url, undefined, variables, `${name}_MCP_URL`) : undefined;
    if (address === undefined) {
      section.tell(url, "left out: a server needs a name of its own, and an http(s) address");
      return [];
    }
    names.add(path);
    const key = apiKey();
    section.rest(ADVICE, "left out: no counterpart; access rules say who may call what");
    return [{ name: path, url: address, ...(key !== undefined && { api_key: key }) }];
  });
}
