/** Serves the description of the API. */

import { type OpenApiDocument, openApiDocument } from "../../../admin-api/index.ts";
import type { Handlers } from "../handler-types.ts";

/** Description of the API, created at the first request. */
let description: OpenApiDocument | undefined;

export const openApiHandlers: Pick<Handlers, "get_openapi"> = {
  get_openapi(_call, { facts: { version } }) {
    if (description?.info.version !== version) description = openApiDocument({ version });
    return { value: description };
  },
};
