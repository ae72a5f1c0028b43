from pyflakes import messages as m
from pyflakes.test.harness import TestCase


class Signs(TestCase):
    def test_positional(self):
        self.flakes("'%d%%' % (50,)")
        self.flakes("'%% %s %% %s' % (1, 2)")
        self.flakes("'%%%s' % ('a',)")

    def test_named(self):
        self.flakes("'%(share)s%%' % {'share': 50}")
        self.flakes("'%% %(a)s %(b)s %%' % {'a': 1, 'b': 2}")

    def test_count_is_told(self):
        self.flakes("'%d%%' % (1, 2)", m.PercentFormatPositionalCountMismatch)
        found = self.flakes("'%d%%' % (1, 2)", m.PercentFormatPositionalCountMismatch)
        self.assertEqual(found.messages[0].message_args, (1, 2))

    def test_wrong_code_is_still_told(self):
        self.flakes("'%s %s' % (1,)", m.PercentFormatPositionalCountMismatch)
        self.flakes("'%s %(a)s' % (1,)", m.PercentFormatMixedPositionalAndNamed)
        self.flakes("'%(a)s%%' % {'b': 1}", m.PercentFormatExtraNamedArguments, m.PercentFormatMissingArgument)
        self.flakes("'%d%% %y' % (1, 2)", m.PercentFormatUnsupportedFormatCharacter)
