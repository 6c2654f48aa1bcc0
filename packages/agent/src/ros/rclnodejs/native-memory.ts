import { DefinitionError } from '@drover/shared/ros/definitions';
import type { GeneratedClass, MessageClass, NativeMessage, Rclnodejs } from './api.js';

/** Encapsulation header of plain little-endian CDR. */
const CDR_HEADER = Buffer.of(0, 1, 0, 0);

/**
 * The C structs of one message type, written from CDR and read as CDR by ROS's own code.
 *
 * rclnodejs would build them from JavaScript values field by field, and there a value of the wrong kind ends the
 * process, typed arrays lose their offset, 64-bit lists lose digits and wide strings everything. Bytes that are no
 * message of the type are refused by ROS as an exception.
 */
export class NativeMemory {
  readonly #rcl: Rclnodejs;
  readonly #generated: GeneratedClass;
  readonly #name: { pkgName: string; subFolder: string; interfaceName: string };

  /** @param type full name of a message or of a part of a service or action. @throws DefinitionError */
  constructor(rcl: Rclnodejs, type: string) {
    const [pkgName = '', subFolder = '', interfaceName = ''] = type.split('/');
    this.#rcl = rcl;
    this.#generated = generatedClass(rcl, type);
    this.#name = { pkgName, subFolder, interfaceName };
  }

  /** A zeroed struct, which is what ROS expects to write into; to be freed once written. */
  allocate(): Buffer {
    return Buffer.alloc(this.#bytes);
  }

  /** @throws Error where the bytes are no message of the type; the struct has to be freed all the same. */
  write(struct: Buffer, cdr: Uint8Array): void {
    // ROS takes a Buffer; this one is a view of the same bytes.
    this.#rcl.deserializeMessage(Buffer.from(cdr.buffer, cdr.byteOffset, cdr.byteLength), this.#classOf(struct));
  }

  /** The struct's message as CDR, in memory of its own. */
  read(struct: Buffer): Uint8Array {
    const type = this.#classOf(struct);
    return this.#rcl.serializeMessage(new type(), type);
  }

  /**
   * Gives back what ROS allocated for the struct's lists and strings. Writing an empty message over it lets go of every
   * list with all in it, as deep as it goes; what is left are the strings outside of lists, which the generated code
   * frees. (By itself it leaks lists of numbers.) Wide strings in a list of fixed length keep their memory: ROS does not
   * shrink them, and nothing frees them.
   */
  free(struct: Buffer): void {
    const empty = Buffer.alloc(CDR_HEADER.length + this.#bytes);
    CDR_HEADER.copy(empty);
    this.write(struct, empty);
    this.#generated.freeStruct(new this.#generated.refObjectType(struct));
  }

  /** No smaller than a pointer: an empty message has a struct of one byte that the generated class does not know of. */
  get #bytes(): number {
    return Math.max(this.#generated.refObjectType.size, 8);
  }

  /** A message class for rclnodejs whose every instance is the struct. */
  #classOf(struct: Buffer): MessageClass {
    const name = this.#name;
    return class implements NativeMessage {
      toRawROS() {
        return struct;
      }
      serialize() {
        return struct;
      }
      static type() {
        return name;
      }
    };
  }
}

/**
 * What rclnodejs has generated of a type. It does so for the packages that are there when it is built.
 * @throws DefinitionError where it has nothing of it.
 */
export function generatedClass(rcl: Rclnodejs, type: string): GeneratedClass {
  try {
    return rcl.require(type);
  } catch (cause) {
    const hint =
      'run "npx generate-ros-messages" where its package is sourced; it takes .srv and .action files, and nothing of a package that has .idl alone';
    throw new DefinitionError(type, `rclnodejs has no class for it, which services and actions need: ${hint}`, {
      cause,
    });
  }
}
