/** Converts MCP servers that are reached by Streamable HTTP. */

import { baseUrlOf } from "./base-urls.ts";
import type { Entry, ReaderInput } from "./deployment-draft.ts";
import { pathNameOf } from "./escape-source-text.ts";
import type { Section } from "./foreign-source.ts";

interface ForeignServer {
  readonly name: string;
  readonly section: Section;
  /** Name of the key with the server's address. */
  readonly url: string;
  readonly isHttp: boolean;
  readonly transportKey: string;
  /** Returns the reference to the key. Called only for servers that are imported. */
  readonly apiKey: () => string | undefined;
}

const ADVICE: Readonly<Record<string, string>> = {
  headers:
    "left out, and not copied: the gateway presents an `api_key` or an entry of `credentials`; set one for this server",
  static_headers:
    "left out, and not copied: the gateway presents an `api_key` or an entry of `credentials`; set one for this server",
};

export function mcpEntries(
  servers: readonly ForeignServer[],
  { variables, source: { leaveOut } }: ReaderInput,
): readonly Entry[] {
  const names = new Set<string>();
  return servers.flatMap(({ name, section, url, isHttp, transportKey, apiKey }) => {
    const path = pathNameOf(name);
    if (!isHttp) {
      section.addNote(
        transportKey,
        "left out: the gateway reaches servers by Streamable HTTP only; put a bridge in front of a stdio or SSE server",
      );
      leaveOut(section.path);
      return [];
    }
    const isOwn = path !== "" && !names.has(path);
    const address = isOwn ? baseUrlOf(section, url, undefined, variables, `${name}_MCP_URL`) : undefined;
    if (address === undefined) {
      section.addNote(url, "left out: a server needs a unique name and an http(s) address");
      leaveOut(section.path);
      return [];
    }
    names.add(path);
    const key = apiKey();
    section.noteUnread(ADVICE, "left out: no counterpart; access rules decide who may call which tool");
    return [{ name: path, url: address, ...(key !== undefined && { api_key: key }) }];
  });
}
