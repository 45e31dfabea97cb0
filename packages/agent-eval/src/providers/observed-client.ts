import type { Deadline } from '../core/deadline.js';
import type { Observer } from '../core/observer.js';
import type { ChatReply, ChatRequest, ModelClient, ModelReply, ModelRequest } from './types.js';

/** A client whose calls somebody looks at. */
export class ObservedClient implements ModelClient {
  readonly #client: ModelClient;
  readonly #observer: Observer;

  constructor(client: ModelClient, observer: Observer) {
    this.#client = client;
    this.#observer = observer;
  }

  complete(request: ModelRequest, deadline: Deadline): Promise<ModelReply> {
    return this.#observer.reply(request.model, () => this.#client.complete(request, deadline));
  }

  chat(request: ChatRequest, deadline: Deadline): Promise<ChatReply> {
    return this.#observer.reply(request.model, () => this.#client.chat(request, deadline));
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
