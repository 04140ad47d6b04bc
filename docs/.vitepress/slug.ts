/** Ids of headings, as code hosts make them, so that a link to a heading works there and on the site. */

/** `heading`: its text without marks. */
export const slugOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
