// Bookmarks, filters and questions that are kept in a file beside the recording.
import {get, put} from "./net.js";

export class Notes {
  /** @param {number} number */
  constructor(number) {
    this.number = number;
    this.data = {bookmarks: [], filters: [], queries: []};
  }

  /** @param {any} [given] what is written down, where it came already */
  async load(given) { this.data = given ?? await get(`${this.number}/notes`); }

  /** @param {string} kind @param {any} value @param {any} ctx */
  async add(kind, value, ctx) {
    if (this.data[kind].some((old) => JSON.stringify(old) === JSON.stringify(value))) return;
    this.data[kind].push(value);
    await this.save(ctx);
  }

  /** @param {string} kind @param {number} index @param {any} ctx */
  async remove(kind, index, ctx) {
    this.data[kind].splice(index, 1);
    await this.save(ctx);
    ctx.again();
  }

  async save(ctx) {
    try {
      const {path} = await put(`${this.number}/notes`, JSON.stringify(this.data));
      ctx.say(`kept in ${path}`);
    } catch (error) {
      ctx.fail(error);
    }
  }
}
