/** Places where the configuration names sealed secrets. The configuration no longer compiles once these are deleted. */

import { plural } from "../format/numbers.ts";
import { type Line, line, span } from "../model/text.ts";
import { safeText } from "./shown-line.ts";

/** Maximum number of places that are listed. */
const MAX_PLACES = 20;

interface NamedDocument {
  readonly source: string;
  readonly document: string;
}

/** Builds the page. `unread` has the sources that could not be read. */
export function secretUsesPage(
  names: readonly string[],
  documents: readonly NamedDocument[],
  unread: readonly string[] = [],
): readonly Line[] {
  const wanted = names.map((name) => `\${secret:${name}}`);
  const places = documents.flatMap(({ source, document }) =>
    document.split("\n").flatMap((text, at) => {
      const used = wanted.filter((reference) => text.includes(reference));
      const [, key = ""] = /^[\s-]*["']?([\w.-]{1,64})["']?\s*:/.exec(text) ?? [];
      return used.map((reference) => ({ source, at: at + 1, reference, key }));
    }),
  );
  const more = places.length - MAX_PLACES;
  return [
    places.length === 0
      ? line(
          `No source names ${names.length === 1 ? "it" : "any of them"}. Node files and files that were not applied are not searched.`,
        )
      : line(`${plural(places.length, "place")} that name${places.length === 1 ? "s" : ""} it:`, "fail"),
    ...places
      .slice(0, MAX_PLACES)
      .map(
        ({ source, at, reference, key }): Line => [
          span("! ", "fail"),
          span(`${safeText(source)} ${at}  `, "dim"),
          span(safeText(`${key === "" ? "" : `${key}: `}${reference}`)),
        ],
      ),
    ...(more > 0 ? [line(`and ${more} more`, "dim")] : []),
    ...(unread.length === 0 ? [] : [line(`not read: ${unread.map(safeText).join(", ")}`, "warn")]),
  ];
}
