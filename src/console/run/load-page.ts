/**
 * Loads a page with `page-content.ts`, which is imported with the first page: it needs a YAML parser, which the first frame does
 * not.
 */

import type { DocumentPageRequest } from "../model/page-request.ts";
import type { Line } from "../model/text.ts";
import type { LoadOptions } from "./page-content.ts";

export async function loadPage(request: DocumentPageRequest, options: LoadOptions): Promise<readonly Line[]> {
  const { loadPage: load } = await import("./page-content.ts");
  return await load(request, options);
}
