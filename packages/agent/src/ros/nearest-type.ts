import type { DefinitionSource } from '@drover/shared/ros/definitions';
import { nearestName } from '@drover/shared/ros/describe-value';
import { type InterfaceKind, splitTypeName } from '@drover/shared/ros/types';

/** A source that can say what it has. */
export interface ListedSource extends DefinitionSource {
  /** Names of the types of one kind in a package (`Twist`); none where there is no such package. */
  names(pkg: string, kind: InterfaceKind): Promise<readonly string[]>;
  /** Packages; some may have no types. */
  packages(): Promise<readonly string[]>;
}

/**
 * The type that a wrong one was most likely meant to be: one of a like name in the same package, or of the same name in one
 * of a like name; null where none is near. Never throws: it is for an error's words.
 */
export async function nearestType(type: string, source: ListedSource): Promise<string | null> {
  try {
    const { pkg, kind, name } = splitTypeName(type);
    const names = await source.names(pkg, kind);
    if (names.length > 0) {
      const near = nearest(name, names);
      return near === null ? null : `${pkg}/${kind}/${near}`;
    }
    const nearPkg = nearest(pkg, await source.packages());
    if (nearPkg === null || !(await source.names(nearPkg, kind)).includes(name)) return null;
    return `${nearPkg}/${kind}/${name}`;
  } catch {
    return null;
  }
}

/** Whatever the case of its letters. */
function nearest(name: string, known: readonly string[]): string | null {
  const byLowerCase = new Map(known.map((one) => [one.toLowerCase(), one]));
  const near = nearestName(name, [...byLowerCase.keys()]);
  return near === null ? null : (byLowerCase.get(near) ?? null);
}
