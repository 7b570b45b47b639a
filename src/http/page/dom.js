/**
 * Makes HTML elements from values, and updates the document to match them. This file decides that parts that a person
 * has opened, chosen or focused stay so during updates. No text is parsed as markup.
 */

/** @typedef {Node | string | number | null | undefined | false | readonly Child[]} Child */
/** @typedef {{ readonly style?: Readonly<Record<string, string>>, readonly [name: string]: unknown }} Attributes */

/**
 * Makes an element. `key` identifies it among its siblings, so that it is kept when it moves.
 * @param {string} tag
 * @param {Attributes} [attributes] false, null and undefined: left out; true: without a value
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'style' || value === undefined || value === null || value === false) continue
    element.setAttribute(name === 'key' ? 'data-key' : name, value === true ? '' : String(value))
  }
  // Styles are set one by one: the content-security-policy forbids a style attribute.
  for (const [name, value] of Object.entries(attributes.style ?? {})) element.style.setProperty(name, value)
  append(element, children)
  return element
}

/**
 * @param {HTMLElement} element
 * @param {readonly Child[]} children
 */
function append(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false || child === '') continue
    if (typeof child === 'string' || typeof child === 'number') element.append(String(child))
    else if (child instanceof Node) element.append(child)
    else append(element, child)
  }
}

/**
 * Updates `old` to look like `next`, whose parts may be moved.
 * @param {Node} old
 * @param {Node} next
 * @returns {void}
 */
export function morph(old, next) {
  if (old instanceof Text && next instanceof Text) {
    if (old.data !== next.data) old.data = next.data
    return
  }
  if (!(old instanceof HTMLElement && next instanceof HTMLElement) || !isSame(old, next)) {
    if (old.parentNode !== null) old.parentNode.replaceChild(next, old)
    return
  }
  morphAttributes(old, next)
  morphChildren(old, next)
}

/** @param {Node} node */
const keyOf = (node) => (node instanceof HTMLElement ? node.dataset.key : undefined)

/**
 * @param {Node} one
 * @param {Node} other
 */
const isSame = (one, other) => one.nodeName === other.nodeName && keyOf(one) === keyOf(other)

/** Attributes that a person changes by using the page. The view only sets their first value. */
const OF_THE_PERSON = ['open', 'checked']

/**
 * @param {HTMLElement} old
 * @param {HTMLElement} next
 */
function morphAttributes(old, next) {
  for (const { name, value } of [...next.attributes]) {
    if (name === 'style' || OF_THE_PERSON.includes(name)) continue
    if (old.getAttribute(name) !== value) old.setAttribute(name, value)
  }
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && !OF_THE_PERSON.includes(name)) old.removeAttribute(name)
  }
  if (old.style.cssText !== next.style.cssText) old.style.cssText = next.style.cssText
}

/**
 * @param {HTMLElement} old
 * @param {HTMLElement} next
 */
function morphChildren(old, next) {
  const keyed = new Map(
    [...old.childNodes].flatMap((child) => (keyOf(child) === undefined ? [] : [[keyOf(child), child]])),
  )
  /** @type {ChildNode | null} */
  let place = old.firstChild
  for (const wanted of [...next.childNodes]) {
    const key = keyOf(wanted)
    const found = key === undefined ? place : keyed.get(key)
    if (found instanceof Node && isSame(found, wanted)) {
      if (found === place) place = place.nextSibling
      else old.insertBefore(found, place)
      morph(found, wanted)
    } else old.insertBefore(wanted, place)
  }
  while (place !== null) {
    const after = place.nextSibling
    old.removeChild(place)
    place = after
  }
}
