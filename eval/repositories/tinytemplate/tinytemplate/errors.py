"""What can be wrong with a template, or with the values for it."""


class TemplateError(Exception):
    pass
