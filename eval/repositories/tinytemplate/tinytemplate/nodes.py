"""What a template is made of. Each node renders itself into a list of strings."""

from .errors import TemplateError


def look_up(path, names):
    """The value of a dotted path."""
    first, *rest = path.split(".")
    if first not in names:
        raise TemplateError(f"no value for {first!r}")
    value = names[first]
    for key in rest:
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif hasattr(value, key):
            value = getattr(value, key)
        else:
            raise TemplateError(f"no {key!r} in {path!r}")
    return value


class Text:
    def __init__(self, text):
        self.text = text

    def render(self, names, filters, out):
        out.append(self.text)


class Value:
    def __init__(self, words):
        self.path, *self.filters = [word.strip() for word in words.split("|")]

    def render(self, names, filters, out):
        value = look_up(self.path, names)
        for name in self.filters:
            if name not in filters:
                raise TemplateError(f"no filter {name!r}")
            value = filters[name](value)
        out.append(str(value))


class For:
    def __init__(self, name, path, body):
        self.name, self.path, self.body = name, path, body

    def render(self, names, filters, out):
        for value in look_up(self.path, names):
            inner = {**names, self.name: value}
            for node in self.body:
                node.render(inner, filters, out)


class If:
    def __init__(self, path, body, otherwise):
        self.path, self.body, self.otherwise = path, body, otherwise

    def render(self, names, filters, out):
        for node in self.body if look_up(self.path, names) else self.otherwise:
            node.render(names, filters, out)
