/** Recognizes a snapshot archive by its first bytes. */

/** First bytes of a gzip file. Source: RFC 1952, section 2.3.1. */
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

/** Returns whether a file that begins with these bytes can be a snapshot archive. */
export const canBeArchive = (head: Buffer): boolean => head.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC);
